"""Finds the objects that tests name (`job/x`, `cronjob/y`, `vcjob/z`, `pods`), and reads the manifests they
pass.

Kinds are those that the API serves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longshore.api.resources import Resource
from longshore.api.types import Obj, copy_of

__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""


class Named(NamedTuple):
    """An object; with an empty name, all objects of its kind."""

    resource: Resource
    name: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.resource.singular}/{self.name}" if self.name else self.resource.plural


def find(text: str, namespace: str, served: Iterable[Resource]) -> Named:
    """The object that a text names. Raises ValueError with the cure if it names none."""
    word, _, name = text.strip().partition("/")
    row = kind(word, served)
    return Named(row, name, namespace if row.namespaced else "")


def one(text: str, namespace: str, served: Iterable[Resource]) -> Named:
    """The one object that a text names. Raises ValueError for a text that names a whole kind."""
    if not text.strip().partition("/")[2]:
        raise ValueError(f"{text!r} names no object: write its kind and its name, as in job/x")
    return find(text, namespace, served)


def kind(word: str, served: Iterable[Resource]) -> Resource:
    """The resource of a word: `job`, `jobs`, `Job`, `cj`, `jobs.batch`. The first one served counts."""
    first, _, group = word.partition(".")
    asked = first.lower()
    rows = [*served]
    for row in rows:
        known = (row.plural, row.singular, row.kind.lower(), *row.short_names)
        if asked in known and (not group or row.group.startswith(group)):
            return row
    kinds = ", ".join(dict.fromkeys(row.singular for row in rows))
    raise ValueError(f"there is no kind {word!r}; write for example job/x; the kinds are: {kinds}")


def of_object(obj: dict[str, object], served: Iterable[Resource]) -> Resource:
    """The resource of a manifest. Raises ValueError if it has no kind, or one that is not served."""
    version, named = obj.get("apiVersion"), obj.get("kind")
    if not version or not named:
        raise ValueError(f"a manifest needs apiVersion and kind; this one has {version!r} and {named!r}")
    for row in served:
        if row.group_version == version and row.kind == named:
            return row
    raise ValueError(f"{version} {named} is not served here; apply its CustomResourceDefinition first")


def plain(row: Resource, obj: Obj) -> Obj:
    """A copy of the object, with apiVersion and kind."""
    found: Obj = {"apiVersion": row.group_version, "kind": row.kind, **copy_of(obj)}
    return found


def manifests(given: Mapping[str, Any] | str | os.PathLike[str]) -> list[Obj]:
    """The objects in a dict, a YAML or JSON text, or a file; those of a List one by one. Raises ValueError if
    one is no manifest."""
    if isinstance(given, Mapping):
        documents: list[Any] = [copy_of(dict(given))]
    else:
        documents = _loaded(given)
    found: list[Obj] = []
    for document in documents:
        if not isinstance(document, dict):
            raise ValueError(f"a manifest is a mapping with apiVersion and kind, not {document!r:.80}")
        if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
            found += document["items"]
        else:
            found.append(document)
    return found


def _loaded(given: str | os.PathLike[str]) -> list[Any]:
    import yaml

    text = _text(given)
    try:
        return [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as err:
        raise ValueError(f"this is no YAML: {err}") from None


def _text(given: str | os.PathLike[str]) -> str:
    if not isinstance(given, str):
        return Path(given).read_text(encoding="utf-8")
    is_path = "\n" not in given and given.endswith((".yaml", ".yml", ".json"))
    return Path(given).read_text(encoding="utf-8") if is_path else given
