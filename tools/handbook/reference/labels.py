"""Every label, annotation and finalizer that the code knows by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from handbook.reference import source
from handbook.reference.markdown import cell, code, page, table

_KEY = re.compile(r"[a-z0-9.-]+\.(dev|io|sh)/[A-Za-z][\w.-]*")
_NOT_KEYS = re.compile(
    r".*/v\d+((alpha|beta)\d+)?(\.\w+)?|"  # a group and its version
    r"(.*\.k8s\.io|[a-z]+\.volcano\.sh)/[a-z]+s|"  # a group and its resource
    # types of Secrets
    r"kubernetes\.io/(basic-auth|dockercfg|dockerconfigjson|service-account-token|ssh-auth|tls)|"
    r"client\.authentication\.k8s\.io/exec|kubernetes\.io/limit-ranger"
)

MEANINGS: dict[str, str] = tomllib.loads(Path(__file__).with_name("label_meanings.toml").read_text())


class Label(NamedTuple):
    key: str
    meaning: str
    rooms: tuple[str, ...]


def found() -> list[Label]:
    """Each key with its meaning and the folders that use it."""
    rooms: dict[str, set[str]] = {}
    for key, module in keys():
        rooms.setdefault(key, set()).add(module.rpartition("/")[0])
    return [Label(key, MEANINGS.get(key, ""), tuple(sorted(rooms[key]))) for key in sorted(rooms)]


def keys() -> Iterator[tuple[str, str]]:
    """Keys in the code, each with its module."""
    for module in source.modules():
        for node in source.nodes(module):
            value = source.literal(node)
            if value is not None and _KEY.fullmatch(value) and not _NOT_KEYS.fullmatch(value):
                yield value, module.name


def text() -> str:
    ours = [label for label in found() if label.key.startswith("longshore.dev/")]
    others = [label for label in found() if not label.key.startswith("longshore.dev/")]
    return page(
        "Labels, annotations and finalizers",
        "Names that longshore reads or writes. Those of Kubernetes and Volcano mean what they mean there.",
        f"## longshore's own\n\n{_table(ours)}",
        f"## Those of Kubernetes and Volcano\n\n{_table(others)}",
    )


def _table(labels: list[Label]) -> str:
    rows = [[code(each.key), cell(each.meaning), ", ".join(map(code, each.rooms))] for each in labels]
    return table(("name", "meaning", "used in"), rows)
