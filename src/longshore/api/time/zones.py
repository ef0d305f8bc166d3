"""Time zones as functions from instants to offsets, and back from wall clocks the way Go does it.

`zoneinfo` knows the offset at any instant, but not the end of its validity, which a search through time
needs. A zone here samples its days in blocks, once per block, and remembers the spans between changes. Wall
times that do not exist or exist twice are resolved by Go's rule, which is neither `fold=0` nor `fold=1`.

Names are looked up as they are written, in the zone database of the machine or else of the tzdata
package; there is no zone called `Local` here.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC as _PYTHON_UTC
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int, int]
"""From (inclusive), until (exclusive), offset from UTC; all in seconds."""

_DAY_SECONDS: Final = 86_400
_BLOCK_SECONDS: Final = 64 * _DAY_SECONDS
# Before the first change and after the last rule nothing moves any more; and datetime ends at 9999.
_FIRST: Final = int(datetime(1800, 1, 1, tzinfo=_PYTHON_UTC).timestamp())
_LAST: Final = int(datetime(9998, 1, 1, tzinfo=_PYTHON_UTC).timestamp())
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=_PYTHON_UTC)


class UnknownZone(ValueError):
    """There is no such zone; the message is the one Go gives."""


class Zone:
    """One time zone. `span` and `offset` take seconds since 1970."""

    __slots__ = ("_blocks", "_info", "name")

    def __init__(self, name: str, info: tzinfo) -> None:
        self.name = name
        self._info = info
        self._blocks: dict[int, tuple[list[int], list[int]]] = {}

    def span(self, at: int) -> Span:
        """A span around `at` with one offset. A longer one may exist."""
        if self._info is _PYTHON_UTC:
            return at - _BLOCK_SECONDS, at + _BLOCK_SECONDS, 0
        if at < _FIRST:
            return at - _BLOCK_SECONDS, at + 1, self._ask(_FIRST)
        if at >= _LAST:
            return at, at + _BLOCK_SECONDS, self._ask(_LAST)
        block = at // _BLOCK_SECONDS
        starts, offsets = self._blocks.get(block) or self._sample(block)
        i = bisect_right(starts, at) - 1
        until = starts[i + 1] if i + 1 < len(starts) else (block + 1) * _BLOCK_SECONDS
        return starts[i], until, offsets[i]

    def offset(self, at: int) -> int:
        return self.span(at)[2]

    def from_wall(self, wall: int) -> int:
        """The instant at which clocks here show `wall` (seconds since 1970 on the clock's face).

        Go's rule for wall times that do not exist or exist twice: take the offset at this time in UTC; if
        that leads to an instant with another offset, take that other offset."""
        guess = wall - self.offset(wall)
        return wall - self.offset(guess)

    def _sample(self, block: int) -> tuple[list[int], list[int]]:
        at = block * _BLOCK_SECONDS
        starts, offsets = [at], [self._ask(at)]
        for day in range(at + _DAY_SECONDS, at + _BLOCK_SECONDS + 1, _DAY_SECONDS):
            offset = self._ask(day)
            if offset != offsets[-1]:
                starts.append(self._change(day - _DAY_SECONDS, day, offset))
                offsets.append(offset)
        self._blocks[block] = starts, offsets
        return starts, offsets

    def _change(self, before: int, after: int, offset: int) -> int:
        """The first second of `offset` between two instants."""
        while after - before > 1:
            middle = (before + after) // 2
            if self._ask(middle) == offset:
                after = middle
            else:
                before = middle
        return after

    def _ask(self, at: int) -> int:
        moment = (_EPOCH + timedelta(seconds=at)).astimezone(self._info)
        offset = moment.utcoffset()
        assert offset is not None
        return offset.days * _DAY_SECONDS + offset.seconds


UTC: Final = Zone("UTC", _PYTHON_UTC)


@lru_cache(maxsize=1024)  # there are about 600 zones; each keeps its samples
def load(name: str) -> Zone:
    """The zone of this name; the empty name is UTC. Raises UnknownZone."""
    if name in ("", "UTC"):
        return UTC
    if ".." in name or name[0] in "/\\":
        raise UnknownZone("time: invalid location name")
    import zoneinfo  # a server without CronJobs in zones never needs it

    try:
        return Zone(name, zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise UnknownZone(f"unknown time zone {name}") from None
