"""Lists of indexes as Indexed Jobs write them: `0,2-5,9`, kept as runs and never as single numbers.

`status.completedIndexes` of a Job with 100,000 completions is read, merged and written on every sync. So an
index list is a tuple of (first, last) pairs, ordered and apart from each other, and each operation goes over
the runs once. Only `add` and `discard` change a list of runs in place. `parse` is the strict grammar of
validation; `read` is the forgiving one of the controller, which skips what is corrupt and cuts off what is
beyond the Job.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from longshore.api import field

Run: TypeAlias = tuple[int, int]
Runs: TypeAlias = tuple[Run, ...]

_integer: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_MAX_INT64: Final = 2**63 - 1
_MAX_PLAIN_DIGITS: Final = 18
"""Numbers with no more digits are below 2**63."""
_MAX_INT64_DIGITS: Final = 19
_JOINING_RATIO: Final = 16
"""A list is merged run by run into one that has more than this many times as many runs."""
_MIN_REMEMBERED_CHARACTERS: Final = 256
_MAX_REMEMBERED_TEXTS: Final = 16

_written: Final[dict[str, Runs]] = {}
"""Long lists that were written lately, with their runs, since controller and API read them again. Reading
2,400 runs takes 3 ms."""


class IndexListError(ValueError):
    """The text is not an index list; the message is the one Kubernetes gives."""


def parse(text: str, completions: int) -> Runs:
    """Parses a list into its runs, exactly as written. Raises IndexListError for anything out of form, order
    or range."""
    runs: list[Run] = []
    if not text:
        return ()
    for fragment in text.split(","):
        run = parse_fragment(fragment, completions)
        if runs and runs[-1][1] >= run[0]:
            raise IndexListError(f"non-increasing order, previous: {runs[-1][1]}, current: {run[0]}")
        runs.append(run)
    return tuple(runs)


def check(text: str, completions: int) -> None:
    """Raises IndexListError if `parse` would."""
    known = _written.get(text)
    if known is None or known[-1][1] >= completions:
        parse(text, completions)


def parse_fragment(fragment: str, completions: int) -> Run:
    """One part between commas: `n` or `a-b`."""
    parts = fragment.split("-")
    if len(parts) > 2:
        raise IndexListError(
            f"the fragment {field.quoted(fragment)} violates the requirement that an index interval can "
            "have at most two parts separated by '-'"
        )
    first = last = _index(parts[0], completions)
    if len(parts) == 2:
        last = _index(parts[1], completions)
        if first >= last:
            raise IndexListError(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    number = integer(text)
    if number is None:
        raise IndexListError(f"cannot convert string to integer for index: {field.quoted(text)}")
    if number >= completions:
        raise IndexListError(f"too large index: {field.quoted(text)}")
    return number


def integer(text: str) -> int | None:
    """The number that Go reads from a text; None if it is no integer of 64 bits."""
    if text.isdecimal() and text.isascii() and len(text) <= _MAX_PLAIN_DIGITS:
        return int(text)
    if not _integer(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MAX_INT64_DIGITS or (number := int(digits)) > _MAX_INT64:
        return None
    return -number if text.startswith("-") else number


def read(text: str, completions: int) -> Runs:
    """The runs that the controller reads from a stored list: unreadable parts are skipped, the first part at
    or beyond `completions` ends the list, and neighbours are joined."""
    known = _written.get(text)
    if known is not None and known[-1][1] < completions:
        return known
    runs: list[Run] = []
    for fragment in text.split(",") if text else ():
        parts = fragment.split("-")
        first = integer(parts[0])
        if first is None:
            continue
        if first >= completions:
            break
        last = integer(parts[1]) if len(parts) > 1 else first
        if last is None:
            continue
        _append(runs, first, min(last, completions - 1))
    return tuple(runs)


def write(runs: Iterable[Run]) -> str:
    """The list as Kubernetes writes it: three or more in a row as `a-b`, two as `a,b`."""
    runs = tuple(runs)
    text = ",".join(
        [
            str(first) if first == last else f"{first}{',' if first + 1 == last else '-'}{last}"
            for first, last in runs
        ]
    )
    if len(text) >= _MIN_REMEMBERED_CHARACTERS and text not in _written and _are_apart(runs):
        if len(_written) >= _MAX_REMEMBERED_TEXTS:
            del _written[next(iter(_written))]
        _written[text] = runs
    return text


def _are_apart(runs: Runs) -> bool:
    """Whether `read` would return the same runs: they are in order, and no two touch."""
    return all(before[1] + 1 < after[0] for before, after in pairwise(runs))


def from_sorted(indexes: Iterable[int]) -> Runs:
    """The runs of indexes in rising order."""
    runs: list[Run] = []
    for index in indexes:
        _append(runs, index, index)
    return tuple(runs)


def merge(a: Runs, b: Runs) -> Runs:
    """All indexes of either list."""
    if not a or not b:
        return a or b
    if len(b) * _JOINING_RATIO < len(a):
        joined = [*a]
        for first, last in b:
            _join(joined, first, last)
        return tuple(joined)
    runs: list[Run] = []
    for first, last in sorted((*a, *b)):  # two sorted halves: one merge pass for Python's sort
        if runs and first <= runs[-1][1] + 1:
            if last > runs[-1][1]:
                runs[-1] = (runs[-1][0], last)
        else:
            runs.append((first, last))
    return tuple(runs)


def common(a: Runs, b: Runs) -> Runs:
    """The indexes that are in both lists."""
    runs: list[Run] = []
    i = j = 0
    while i < len(a) and j < len(b):
        first, last = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if first <= last:
            runs.append((first, last))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(runs)


def without(a: Runs, b: Runs) -> Runs:
    """The indexes of the first list that are not in the second."""
    runs: list[Run] = []
    j = 0
    for first, last in a:
        while j < len(b) and b[j][1] < first:
            j += 1
        k = j
        while k < len(b) and b[k][0] <= last:
            if first < b[k][0]:
                runs.append((first, b[k][0] - 1))
            first = b[k][1] + 1
            k += 1
        if first <= last:
            runs.append((first, last))
    return tuple(runs)


def count(runs: Runs) -> int:
    return sum([last - first for first, last in runs]) + len(runs)


def contains(runs: Runs, index: int) -> bool:
    at = bisect_right(runs, (index, _MAX_INT64)) - 1
    return at >= 0 and runs[at][1] >= index


def missing(runs: Runs, completions: int) -> Iterator[int]:
    """The indexes below `completions` that are not in the list, in rising order."""
    start = 0
    for first, last in runs:
        yield from range(start, min(first, completions))
        start = last + 1
    yield from range(start, completions)


def add(runs: list[Run], index: int) -> None:
    """Puts an index into a list of runs."""
    _join(runs, index, index)


def discard(runs: list[Run], index: int) -> None:
    """Takes an index out of a list of runs that has it."""
    at = bisect_right(runs, (index, _MAX_INT64)) - 1
    first, last = runs[at]
    runs[at : at + 1] = [run for run in ((first, index - 1), (index + 1, last)) if run[0] <= run[1]]


def _join(runs: list[Run], first: int, last: int) -> None:
    """Puts a run into a list of runs, joined with all runs that it touches."""
    at = bisect_left(runs, (first, first))
    if at and runs[at - 1][1] >= first - 1:
        at -= 1
        first = runs[at][0]
    end = at
    while end < len(runs) and runs[end][0] <= last + 1:
        last = max(last, runs[end][1])
        end += 1
    runs[at:end] = [(first, last)]


def _append(runs: list[Run], first: int, last: int) -> None:
    if runs and runs[-1][1] == first - 1:
        runs[-1] = (runs[-1][0], last)
    else:
        runs.append((first, last))
