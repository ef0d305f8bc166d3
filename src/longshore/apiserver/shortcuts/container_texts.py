"""Texts of containers: the words of their commands and the values of their variables.

No rule reads them, and in Jobs that are alike otherwise they are what differs. So they can be taken out of
a pod's spec, to see what it has in common with others, and be put into the spec that another one came to.
Whatever is unusual (no texts, variables from elsewhere) stays where it is.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from longshore.api.types import Obj

Told: TypeAlias = list[Obj]
"""The texts of each container, by field; empty where it has none."""

_WORDS: Final = ("command", "args")
_VARIABLE: Final = {"name", "value"}
_TEXT: Final = {str}


def apart(spec: Obj) -> tuple[Obj, Told]:
    """A pod's spec without the texts of its containers, for comparing only, and copies of the texts."""
    containers = spec.get("containers")
    if type(containers) is not list:
        return spec, []
    bare, told = [], []
    for container in containers:
        if type(container) is not dict:
            return spec, []
        words = _told(container)
        told.append(words)
        bare.append({**container, **_blank(words)} if words else container)
    return ({**spec, "containers": bare}, told) if any(told) else (spec, [])


def put(spec: Obj, told: Told) -> Obj:
    """The spec with these texts in place of those it has in the same fields."""
    containers = spec["containers"]
    for container, words in zip(containers, told, strict=True):
        if not words.items() <= container.items():
            break
    else:
        return spec  # as with the pods of one Job
    return {**spec, "containers": [{**c, **words} for c, words in zip(containers, told, strict=True)]}


def _told(container: Obj) -> Obj:
    told: Obj = {}
    for key in _WORDS:
        words = container.get(key)
        if words and type(words) is list and set(map(type, words)) == _TEXT:
            told[key] = list(words)
    variables = container.get("env")
    if variables and type(variables) is list and _are_plain(variables):
        told["env"] = [{"name": each["name"], "value": each["value"]} for each in variables]
    return told


def _are_plain(variables: list[Any]) -> bool:
    """Whether each variable has a value and a name of its own: there are rules about those that do not."""
    if any(type(each) is not dict or each.keys() != _VARIABLE for each in variables):
        return False
    names, values = [each["name"] for each in variables], [each["value"] for each in variables]
    return set(map(type, names + values)) == _TEXT and all(values) and len(set(names)) == len(names)


def _blank(told: Obj) -> Obj:
    blank: Obj = dict.fromkeys(told)
    if "env" in told:
        blank["env"] = [each["name"] for each in told["env"]]
    return blank
