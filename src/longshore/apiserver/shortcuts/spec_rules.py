"""The differences between two new objects of one spec, gathered from what the rules of their kind say of
themselves.

Nothing here knows a rule by name. Where one of them does not say what it reads (`api/reads.py`), or reads
what nobody can ask it about again, no object of that kind is taken to be like another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from longshore.api import reads
from longshore.api.reads import Get, List, New
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.rest import admission


class Differences(NamedTuple):
    """The parts of an object that must agree before its spec is taken for that of another."""

    parts: frozenset[str]
    """Parts of the spec that let a rule look beyond it."""
    when: tuple[Callable[[Any], bool], ...]
    """Other reasons for that, told from the spec."""
    annotations: frozenset[str]
    """Annotations that rules read."""
    prefixes: tuple[str, ...]
    """How further such annotations begin."""
    unless: tuple[Callable[[Get, List, str], bool], ...]
    """Each must hold: no other object has a say."""
    again: tuple[Callable[[New], bool], ...]
    """Rules to ask again about every object."""
    renew_defaults: tuple[Callable[[New], None], ...]
    renew: tuple[Callable[[New], None], ...]

    def look_beyond(self, spec: Obj) -> bool:
        """Whether a rule looks at more than this spec, sent by a client."""
        if not self.parts.isdisjoint(spec):
            return True
        for looks in self.when:  # noqa: SIM110 - `any` takes twice as long, and every object is asked
            if looks(spec):
                return True
        return False

    def read_annotations(self, annotations: Obj) -> Obj:
        """The annotations that rules read."""
        if not annotations:
            return annotations
        own, prefixes = self.annotations, self.prefixes
        return {key: annotations[key] for key in annotations if key in own or key.startswith(prefixes)}


def of(resource: Resource) -> Differences | None:
    """The differences of one kind; None if a rule may read everything."""
    kind = resource.strategy.rules
    if kind is None:
        return None
    later = [*admission.rules_of(resource), *kind.later]
    said = [each for rule in (*kind.defaults, *later) for each in reads.of(rule)]
    read = frozenset(name for each in said if not each.again for name in each.fields)
    annotations = {
        name.removeprefix(reads.ANNOTATION)[:-1] for name in read if name.startswith(reads.ANNOTATION)
    }
    if any(each.is_always_varied and _are_not_annotations(each) for each in said):
        return None
    return Differences(
        frozenset(part for each in said if _decides(each) for part in each.only_with),
        tuple(each.when for each in said if each.when and _decides(each)),
        frozenset(key for key in annotations if not key.endswith(_ALL)),
        tuple(key.removesuffix(_ALL) for key in annotations if key.endswith(_ALL)),
        tuple(dict.fromkeys(each.unless for each in said if each.unless)),
        tuple(each.again for each in said if each.again),
        tuple(each.renew for rule in kind.defaults for each in reads.of(rule) if each.renew),
        tuple(each.renew for rule in later for each in reads.of(rule) if each.renew),
    )


_ALL: Final = "*"


def _are_not_annotations(said: reads.Reads) -> bool:
    """Annotations that are read are part of what objects must have in common."""
    return not all(name.startswith(reads.ANNOTATION) for name in said.fields)


def _decides(said: reads.Reads) -> bool:
    return not (said.again or said.renew)
