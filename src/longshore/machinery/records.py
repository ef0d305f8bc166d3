"""Records of what was done to objects and why, as they are stored: one for each new reason.

A bundle of records is one JSON document. `of` finds the records of some objects in many bundles, and decodes
only the bundles in which one of the names occurs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from longshore.machinery import catalogue
from longshore.machinery.reasons import Number

PROBLEM: Final = "Problem"
"""The code of an error with which a plan failed."""


class Record(msgspec.Struct, array_like=True, omit_defaults=True):
    """One reason that one part of longshore gave for one object. Not changed once it is made."""

    at: float
    """Seconds since 1970."""
    kind: str
    """The short name that `longshore why` uses: `job`, `vcjob`, `pod`."""
    namespace: str
    name: str
    uid: str
    who: str
    """The part of longshore that gave the reason: `job controller`, `scheduler`, `node`."""
    code: str
    text: str = ""
    """The words of a reason that the catalogue lacks, from another version or another controller."""
    numbers: Mapping[str, Number] = {}

    @property
    def words(self) -> str:
        """One sentence without a full stop, in the present tense."""
        return catalogue.now(self.code, self.numbers, self.text)

    def then(self, **more: Number) -> str:
        """The sentence of a story, from the record's numbers and `more`."""
        return catalogue.then(self.code, {**self.numbers, **more}, self.text)


Name = tuple[str, str, str]
"""Kind, namespace and name of an object."""

encode: Final = msgspec.json.Encoder().encode
"""Encodes a list of records as a bundle."""
_MAX_NEEDLES: Final = 16
"""For more names than this, all bundles are decoded: 30,000 records in 30 ms."""
_decode: Final = msgspec.json.Decoder(list[Record]).decode


def of(bundles: Iterable[bytes], names: Collection[Name]) -> list[Record]:
    """The records of these objects, oldest first."""
    wanted = set(names)
    needles = {encode(name) for _, _, name in wanted}
    seek = len(needles) <= _MAX_NEEDLES
    found = [
        record
        for bundle in bundles
        if not seek or any(needle in bundle for needle in needles)
        for record in _decode(bundle)
        if (record.kind, record.namespace, record.name) in wanted
    ]
    return sorted(found, key=lambda record: record.at)
