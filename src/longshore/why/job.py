"""The story of a Job: pods created, failed and tried again, by which rule, and how the Job ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from longshore.api import indexes
from longshore.machinery.reasons import Number
from longshore.machinery.records import PROBLEM, Record
from longshore.why import inferred, pod, restarts
from longshore.why.deletion import deleted
from longshore.why.job_failures import Failures, folded
from longshore.why.story import Line, View, counted, merged, of_record, problem, ranges, single, stamp

_ENDS: Final = ("Complete", "Failed")
_VERDICTS: Final = frozenset(
    (
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "FailedIndexes",
        "MaxFailedIndexesExceeded",
        "PodFailurePolicy",
        "PodsTerminating",
        "SuccessPolicy",
    )
)
"""Codes of a verdict that is on record while pods still go; the end itself comes after."""
_UNTOLD: Final = frozenset(("TtlRuns", "BadTtl"))


def lines(view: View) -> list[Line]:
    kept = view.own
    codes = {record.code for record in kept if record.who.endswith("controller")}
    guessed = [record for record in inferred.of_job(view) if _is_unknown(record, codes)]
    records = sorted([*kept, *guessed], key=lambda record: record.at)
    told = merged(folded(_Telling(view, records).lines()))
    return sorted([*told, *_restarts(view)], key=lambda line: line.at)


def _restarts(view: View) -> Iterator[Line]:
    """The ends and restarts of containers in pods that go on after them (restartPolicy OnFailure)."""
    by_pod: dict[str, list[Record]] = {}
    for record in view.pod_records:
        by_pod.setdefault(record.name, []).append(record)
    for name, records in by_pod.items():
        if all(record.code != "Restarted" for record in records):
            continue
        steps = [line for record in records if (line := pod.restart_step(record)) is not None]
        if steps[-1].numbers.get("stopped"):
            steps.pop()  # with the pod, which the Job tells itself
        for line in restarts.folded(steps):
            line.words = f"pod {name}: {line.words}"
            yield line


def _is_unknown(guess: Record, codes: Set[str]) -> bool:
    """Whether the controllers' own reasons say nothing of it: they keep none, or have forgotten it."""
    if guess.code == "PodFailed":
        return not codes
    return not codes & set(_ENDS) if guess.code in _ENDS else guess.code not in codes


class _Telling:
    """Goes through the records once, from the oldest on."""

    def __init__(self, view: View, records: Sequence[Record]) -> None:
        self._view, self._records = view, records
        self._failures = Failures(view)
        self._ended = any(record.code in _ENDS for record in records)
        self._created = 0
        self._suspended = False
        self._replacing = False
        """Whether pods failed since the last creation."""
        self._all_active = True
        """Whether no pod had ended when more were created: the Job takes its time, or wants more now."""

    def lines(self) -> Iterator[Line]:
        batch: list[Record] = []
        """Creations in a row, after the first: one line."""
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
        code = record.code
        if code in _UNTOLD or (code in _VERDICTS and self._ended):
            return
        if code == "Suspended" and self._suspended:
            return
        if code == "PodFailed":
            self._replacing = "index" not in record.numbers
            yield from self._failures.lines(record)
        elif gone := deleted(record, "Job"):
            yield gone
        elif code == PROBLEM:
            yield of_record(record, f"could not go on: {problem(record.words)}")
        else:
            words = _WORDS.get(code)
            yield of_record(record, words(self, record.numbers) if words is not None else record.words)

    def _carried_out(self) -> Iterator[Record]:
        """The records without the creations that came to nothing."""
        spoiled = {record.at for record in self._records if record.code == PROBLEM}
        for record in self._records:
            if record.code != "PodsCreated" or record.at not in spoiled:
                yield record

    def _is_one_of_many(self, record: Record) -> bool:
        return bool(self._created) and not self._suspended and not self._is_retry(record)

    def _is_retry(self, record: Record) -> bool:
        listed = str(record.numbers.get("indexes", ""))
        known = self._failures.indexes
        return bool(listed) and all(index in known for index in single(listed))

    def created(self, numbers: Mapping[str, Number]) -> str:
        pods, first, resumed = int(numbers.get("pods", 0)), not self._created, self._suspended
        self._created, self._suspended = self._created + pods, False
        listed = str(numbers.get("indexes", ""))
        if not first and listed and all(index in self._failures.indexes for index in single(listed)):
            return f"{_indexes(listed)} started again"
        said = f"created {counted(pods, 'pod')}" + (f" ({_indexes(listed)})" if listed else "")
        if resumed:
            said = f"resumed: {said}"
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

    def suspended(self, numbers: Mapping[str, Number]) -> str:
        self._suspended = True
        pods = int(numbers.get("pods", 0))
        return f"suspended: removed {counted(pods, 'pod')}" if pods else "suspended"

    def failed(self, numbers: Mapping[str, Number]) -> str:
        reason, spec = str(numbers.get("reason", "")), self._view.spec
        succeeded, many = int(numbers.get("succeeded", 0)), int(numbers.get("failed", 0))
        listed = str(numbers.get("failedIndexes", ""))
        count = len(single(listed))
        of = spec.get("completions")
        so = f"; {succeeded} succeeded"
        match reason:
            case "FailedIndexes":
                how = f"{count} of {of}" if of else counted(count, "index")
            case "MaxFailedIndexesExceeded":
                how = f"{counted(count, 'index')} failed{_limit(spec, 'maxFailedIndexes')}"
            case "BackoffLimitExceeded":
                how = f"{counted(many, 'pod')} failed{_limit(spec, 'backoffLimit')}"
            case "DeadlineExceeded":
                deadline = spec.get("activeDeadlineSeconds")
                how = (
                    f"it was active for more than {f'{deadline} s' if deadline else 'activeDeadlineSeconds'}"
                )
            case _:
                how = str(numbers.get("message", ""))
        how = f", {how}" if how else ""
        return f"the Job failed: {reason}{how}{so}"

    def complete(self, numbers: Mapping[str, Number]) -> str:
        succeeded, many = int(numbers.get("succeeded", 0)), int(numbers.get("failed", 0))
        of = self._view.spec.get("completions")
        said = f"{succeeded} of {of} succeeded" if of is not None else f"{succeeded} succeeded"
        if numbers.get("reason") == "SuccessPolicy":
            said = f"its successPolicy is met, {said}"
        failed = f"; {counted(many, 'pod')} failed on the way" if many else ""
        return f"the Job is complete: {said}{failed}"


_WORDS: Final[Mapping[str, Callable[[_Telling, Mapping[str, Any]], str]]] = {
    "PodsCreated": _Telling.created,
    "Suspended": _Telling.suspended,
    "Failed": _Telling.failed,
    "Complete": _Telling.complete,
    "PodsRemoved": lambda _, n: (
        f"removed {counted(n['pods'], 'pod')}: {n['active']} were active, {n['wanted']} wanted"
    ),
    "ActiveDeleted": lambda _, n: f"deleted {counted(n['pods'], 'pod')} that still ran",
    "BackingOff": lambda _, n: (
        f"{counted(n['failures'], 'pod')} failed in a row: the next one starts at {n['until']}"
    ),
    "MoreFailed": lambda _, n: f"{counted(n['pods'], 'more pod')} failed",
}


def _limit(spec: Mapping[str, Any], field: str) -> str:
    """`, backoffLimit is 2`; nothing of a Job that is gone, whose limits nobody kept."""
    return f", {field} is {spec[field]}" if field in spec else ""


def _at_a_time(pods: int, numbers: Mapping[str, Number]) -> str:
    """Why so many: `: 3 of 6 completions wanted at a time`."""
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
