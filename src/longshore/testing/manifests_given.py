"""Manifests as a test gives them: a dict, YAML or JSON text, or the path of a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longshore.api.types import Obj, copy_of


def read(given: Mapping[str, Any] | str | os.PathLike[str]) -> list[Obj]:
    """Returns all objects, those of a List one by one. Raises ValueError if one is no manifest."""
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
