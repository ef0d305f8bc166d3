"""Finds the step that ends a wait in words that name what is missing: an object, a key, room in a quota."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

AGAIN: Final = "it is tried again, after longer and longer pauses"
_KINDS: Final = {"configmap": "ConfigMap", "secret": "Secret", "serviceaccount": "ServiceAccount"}
_MISSING: Final = re.compile(r'\b(configmap|secret|serviceaccount)s? "([^"]+)" not found')
_KEY: Final = re.compile(r"couldn't find key (\S+) in (ConfigMap|Secret) [^\s/]*/(\S+)")
_VOLUME_KEY: Final = re.compile(r"references non-existent (?:config|secret) key: (\S+)")
_IMAGE: Final = re.compile(r"longshore images add \S+ -- COMMAND")
_PRIORITY: Final = re.compile(r"no PriorityClass with name (\S+) was found")
_QUOTA: Final = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)")
_UNNAMED_QUOTA: Final = re.compile(r"failed quota: ([^:\s]+): must specify ([^;\s]+)")
_GOING: Final = re.compile(r"in namespace (\S+) because it is being terminated")


class Step(NamedTuple):
    """The step that ends a wait."""

    until: str
    """The end of the sentence "it starts when …"."""
    see: tuple[str, ...] = ()
    """Commands that show more, each with its purpose in front."""


def missing(words: str) -> Step | None:
    """The step, if the words of a node or of the API say what is missing; None if they do not."""
    if found := _MISSING.search(words):
        return Step(f"{_KINDS[found[1]]} {found[2]} exists")
    if found := _KEY.search(words):
        return Step(f"{found[2]} {found[3]} has the key {found[1]}")
    if found := _VOLUME_KEY.search(words):
        return Step(f"the key {found[1]}, which its volume names, exists")
    if found := _IMAGE.search(words):
        return Step(f"longshore knows what its image runs: {found[0]}")
    if found := _PRIORITY.search(words):
        return Step(f"PriorityClass {found[1]} exists")
    if found := _QUOTA.search(words):
        name, asked, used, limit = found.groups()
        told = f"quota {name} has room: {asked} is asked for, {used} is used, {limit} is the limit"
        return Step(told, (f"about the quota: longshore describe quota {name}",))
    if found := _UNNAMED_QUOTA.search(words):
        name, amounts = found.groups()
        see = (f"about the quota: longshore describe quota {name}",)
        return Step(f"its containers say {amounts}, which quota {name} demands", see)
    if found := _GOING.search(words):
        see = (f"about the namespace: longshore why namespace/{found[1]}",)
        return Step(f"namespace {found[1]}, which is being deleted, was created anew", see)
    return None
