"""Compares the rules of RBAC roles: finds what some rules grant and others do not. Pure.

A rule is split into its smallest pieces, one verb on one resource (or one path), so each piece is covered by
a single rule or by none. The authorizer decides whether a rule allows a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from longshore.api import field
from longshore.api.types import Obj

MAX_PIECES: Final = 5000
"""The most pieces that are compared one by one for a write: ten times those of the role `admin`, and 0.1 s of
work for a user with 50 rules. Lists of a hundred entries each would make a million pieces."""
MAX_LINES: Final = 200
_LISTS: Final = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")
_SHOWN: Final = {"apiGroups": "APIGroups", "nonResourceURLs": "NonResourceURLs"}


def uncovered(held: Iterable[Obj], wanted: Iterable[Obj]) -> list[Obj]:
    """The pieces of `wanted` rules that none of the `held` rules covers. A rule with too many pieces counts
    as one piece: a single held rule must cover all of it."""
    holding, missing, left = list(held), [], MAX_PIECES
    for rule in wanted:
        if any(_covers(own, rule) for own in holding):
            continue
        left -= _count(rule)
        pieces = _pieces(rule) if left >= 0 else (rule,)
        missing += [piece for piece in pieces if not any(_covers(own, piece) for own in holding)]
    return missing


def _count(rule: Obj) -> int:
    groups, resources, urls, names, verbs = (len(rule.get(key) or ()) for key in _LISTS)
    return (groups * resources * (names or 1) + urls) * verbs


def _pieces(rule: Obj) -> Iterator[Obj]:
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                piece = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                if names:
                    yield from ({**piece, "resourceNames": [name]} for name in names)
                else:
                    yield piece
    for url in rule.get("nonResourceURLs") or ():
        yield from ({"nonResourceURLs": [url], "verbs": [verb]} for verb in verbs)


def _covers(own: Obj, rule: Obj) -> bool:
    """Whether one rule covers all of another. Only a wildcard covers a wildcard."""
    if not _has_all(own, rule, "verbs"):
        return False
    paths = rule.get("nonResourceURLs") or ()
    if not all(any(path_covers(held, path) for held in own.get("nonResourceURLs") or ()) for path in paths):
        return False
    if not _has_all(own, rule, "apiGroups"):
        return False
    resources = own.get("resources") or ()
    if "*" not in resources and not all(_in(resources, resource) for resource in rule.get("resources") or ()):
        return False
    names = own.get("resourceNames")
    return not names or (bool(rule.get("resourceNames")) and _has_all(own, rule, "resourceNames", wild=False))


def _has_all(own: Obj, rule: Obj, key: str, *, wild: bool = True) -> bool:
    held = own.get(key) or ()
    return (wild and "*" in held) or all(value in held for value in rule.get(key) or ())


def _in(held: Sequence[str], resource: str) -> bool:
    _, slash, sub = resource.partition("/")
    return resource in held or (bool(slash) and f"*/{sub}" in held)


def path_covers(own: str, path: str) -> bool:
    """Whether a rule for the path `own`, which may end in a star, covers `path`."""
    return own == path or (own.endswith("*") and path.startswith(own.rstrip("*")))


def described(pieces: Iterable[Obj]) -> list[str]:
    """One sorted line for each resource of these pieces, with all its verbs."""
    by_resource: dict[tuple[str, ...], Obj] = {}
    lines = set()
    for piece in pieces:
        if any(len(piece.get(key) or ()) != 1 for key in ("apiGroups", "resources")):
            lines.add(text(piece))
            continue
        key = (piece["apiGroups"][0], piece["resources"][0], *piece.get("resourceNames", ()))
        together = by_resource.setdefault(key, {**piece, "verbs": []})
        together["verbs"] += piece["verbs"]
    ordered = sorted(lines | {text(rule) for rule in by_resource.values()})
    more = len(ordered) - MAX_LINES
    return ordered if more <= 0 else [*ordered[:MAX_LINES], f"and {more} more"]


def text(rule: Obj) -> str:
    """A rule as Kubernetes prints it in an error."""
    parts = (
        f"{_SHOWN.get(key, key[0].upper() + key[1:])}:{texts(rule[key])}" for key in _LISTS if rule.get(key)
    )
    return "{" + ", ".join(parts) + "}"


def texts(values: Sequence[str]) -> str:
    """Strings as Go prints a list of them: `["a" "b"]`."""
    return "[" + " ".join(field.quoted(value) for value in values) + "]"


def joined(faults: Sequence[str]) -> str:
    """Several errors as Kubernetes prints them: each once, in brackets if there are several."""
    once = list(dict.fromkeys(faults))
    return once[0] if len(once) == 1 else "[" + ", ".join(once) + "]"
