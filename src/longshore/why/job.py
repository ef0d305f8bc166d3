"""The story of a Job: pods created, failed and tried again, by which rule, and how the Job ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

import msgspec

from longshore.api import indexes
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Place
from longshore.machinery.reasons import Number
from longshore.machinery.records import PROBLEM, Record
from longshore.machinery.sentences import ranges, stamp
from longshore.why import inferred, pod, restarts
from longshore.why.deletion import deleted
from longshore.why.job_failures import Failures, folded
from longshore.why.story import Created, Line, StoryView, could_not, merged, of_record, single

_ENDS: Final = ("Complete", "Failed")
_LIMITS: Final = ("completions", "backoffLimit", "maxFailedIndexes", "activeDeadlineSeconds")
"""Fields of a Job that the line about its end mentions."""


def lines(view: StoryView) -> list[Line]:
    kept = view.own
    codes = {record.code for record in kept if record.who.endswith("controller")}
    guessed = [record for record in inferred.of_job(view) if _is_unknown(record, codes)]
    records = sorted([*kept, *guessed], key=lambda record: record.at)
    told = merged(folded(_Telling(view, records).lines()))
    return sorted([*told, *_restarts(view)], key=lambda line: line.at)


def _restarts(view: StoryView) -> Iterator[Line]:
    """Lines for container ends and restarts in pods that continue after them (restartPolicy OnFailure)."""
    by_pod: dict[str, list[Record]] = {}
    for record in view.pod_records:
        by_pod.setdefault(record.name, []).append(record)
    for name, records in by_pod.items():
        if all(record.code != "Restarted" for record in records):
            continue
        steps = [line for record in records if (line := pod.restart_step(record)) is not None]
        if steps[-1].numbers.get("stopped"):
            steps.pop()  # the Job stopped the pod; its story has a line for that
        for line in restarts.folded(steps):
            line.words = f"pod {name}: {line.words}"
            yield line


def _is_unknown(guess: Record, codes: Set[str]) -> bool:
    """Whether an inferred record adds something: controllers recorded no such reason, or it was dropped."""
    if guess.code == "PodFailed":
        return not codes
    return not codes & set(_ENDS) if guess.code in _ENDS else guess.code not in codes


class _Telling:
    """Goes through the records once, from the oldest to the newest."""

    def __init__(self, view: StoryView, records: Sequence[Record]) -> None:
        self._view, self._records = view, records
        self._failures = Failures(view)
        self._has_ended = any(catalogue.place(record.code) is Place.END for record in records)
        self._created = 0
        self._suspended = False
        self._replacing = False
        """Whether pods have failed since the last creation of pods."""
        self._all_active = True
        """Whether no pod had ended when more were created: the Job starts slowly, or wants more now."""

    def lines(self) -> Iterator[Line]:
        batch: list[Record] = []
        """Consecutive creations after the first; they become one line."""
        for record in self._carried_out():
            if record.code == "PodsCreated" and self._is_one_of_many(record):
                batch.append(record)
                self._all_active = self._all_active and record.numbers.get("active") == self._created
                self._created += int(record.numbers.get("pods", 0))
                continue
            yield from self._more_created(batch)
            if batch or record.code == "PodsCreated":
                self._replacing = False
            batch = []
            yield from self._line(record)
        yield from self._more_created(batch)

    def _line(self, record: Record) -> Iterator[Line]:
        code, place = record.code, catalogue.place(record.code)
        if place is Place.STEP or (place is Place.VERDICT and self._has_ended):
            return
        if code == "Suspended" and self._suspended:
            return
        if code == "PodFailed":
            self._replacing = "index" not in record.numbers
            yield from self._failures.lines(record)
        elif gone := deleted(record, "Job"):
            yield gone
        elif code == PROBLEM:
            if (line := could_not(record)) is not None:
                yield line
        elif code == "PodsCreated":
            yield of_record(record, self._pods_created(record))
        else:
            self._suspended = self._suspended or code == "Suspended"
            yield of_record(record, self._ended(record) if place is Place.END else "")

    def _carried_out(self) -> Iterator[Record]:
        """The records; a creation that failed counts the pods that were created all the same, if any."""
        spoiled = {record.at for record in self._records if record.code == PROBLEM}
        created = Created(self._view.pods)
        for record in self._records:
            if record.code == "PodsCreated":
                many = created.at(record.at, int(record.numbers.get("pods", 0)))
                if record.at in spoiled and not many:
                    continue
                if record.at in spoiled:
                    record = msgspec.structs.replace(record, numbers={"pods": many})
            yield record

    def _is_one_of_many(self, record: Record) -> bool:
        return bool(self._created) and not self._suspended and not self._is_retry(record)

    def _is_retry(self, record: Record) -> bool:
        listed = str(record.numbers.get("indexes", ""))
        known = self._failures.indexes
        return bool(listed) and all(index in known for index in single(listed))

    def _pods_created(self, record: Record) -> str:
        numbers, first, resumed = record.numbers, not self._created, self._suspended
        pods = int(numbers.get("pods", 0))
        self._created, self._suspended = self._created + pods, False
        if not first and self._is_retry(record):
            return f"{_indexes(str(numbers['indexes']))} started again"
        said = f"resumed: {record.then()}" if resumed else record.then()
        return said + (_at_a_time(pods, numbers) if first or resumed else "")

    def _more_created(self, batch: list[Record]) -> Iterator[Line]:
        if not batch:
            return
        pods = sum(int(record.numbers.get("pods", 0)) for record in batch)
        runs: indexes.Runs = ()
        for record in batch:
            runs = indexes.merge(runs, indexes.from_sorted(single(str(record.numbers.get("indexes", "")))))
        listed = f" ({_indexes(indexes.write(runs))})" if runs else ""
        failed = "the one that failed" if pods == 1 else "those that failed"
        why = (
            f", in place of {failed}" if self._replacing else "" if self._all_active else ", as others ended"
        )
        words = f"created {pods} more pod{'s' if pods > 1 else ''}{listed}{why}"
        line = of_record(batch[0], words)
        if int(batch[-1].at) > int(batch[0].at):
            line.more = (f"the last at {stamp(batch[-1].at)}",)
        yield line

    def _ended(self, record: Record) -> str:
        limits = {name: self._view.spec[name] for name in _LIMITS if self._view.spec.get(name) is not None}
        return record.then(count=len(single(str(record.numbers.get("failedIndexes", "")))), **limits)


def _at_a_time(pods: int, numbers: Mapping[str, Number]) -> str:
    """Why so many pods are created: `: 3 of 6 completions wanted at a time`."""
    completions, parallelism = numbers.get("completions"), int(numbers.get("parallelism", pods))
    if completions is None:
        return f": {parallelism} at a time, until one succeeds" if "parallelism" in numbers else ""
    if int(completions) <= 1:
        return ""
    if parallelism >= int(completions):
        return f": all {completions} completions at once" if pods == int(completions) else ""
    return f": {parallelism} of {completions} completions wanted at a time"


def _indexes(listed: str) -> str:
    return f"index{'es' if not listed.isdigit() else ''} {ranges(listed)}"
