"""Failed pods in a Job's story: exit code and last words, the rule of the failure policy, and the retry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from longshore.api import indexes
from longshore.api.types import Obj
from longshore.machinery.reasons import Number
from longshore.machinery.records import Record
from longshore.machinery.sentences import OUT_OF_MEMORY, exit_words, ordinal, quoted, ranges, span, stamp
from longshore.why.deletion import ASKED, asked
from longshore.why.story import Line, StoryView, memory_limit, of_record, without_use

_MEANINGS = {
    "Count": "so it counts",
    "FailIndex": "so the index has failed",
    "FailJob": "so the Job fails",
    "Ignore": "so it does not count",
}


_FAILED, _RETRY = "PodFailed", "IndexRetried"
_ONE: Final = re.compile(r"^(index \d+|pod \S+) ")
_PLURALS: Final = (
    (
        "its retries are used up, so the index has failed",
        "their retries are used up, so the indexes have failed",
    ),
    (
        " was deleted before it ended, which counts as a failure",
        " were deleted before they ended, which counts as failures",
    ),
)


def folded(lines: Iterable[Line]) -> list[Line]:
    """The lines, with consecutive failures of the same cause folded into one, and their retries too."""
    found: list[Line] = []
    for is_failure, some in groupby(lines, lambda line: line.code in (_FAILED, _RETRY)):
        row = [*some]
        found += _together(row) if is_failure else row
    return found


def _together(row: list[Line]) -> list[Line]:
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in row:
        groups.setdefault((line.code, without_use(_ONE.sub("", line.words))), []).append(line)
    return [_one_line(rest, group) for (_, rest), group in groups.items()]


def _one_line(rest: str, group: list[Line]) -> Line:
    first, last = group[0], group[-1]
    if len(group) == 1 or _ONE.match(first.words) is None:
        return first
    if first.words.startswith("index "):
        listed = indexes.write(indexes.from_sorted(sorted({int(line.numbers["index"]) for line in group})))
        who = f"indexes {ranges(listed)}"
    else:
        who = f"{len(group)} pods ({first.numbers.get('pod')}, …)"
    for one, many in _PLURALS:
        rest = rest.replace(one.lstrip(), many.lstrip())
    more = first.more
    if int(last.at) > int(first.at):
        more = (*more, f"the last at {stamp(last.at)}")
    return Line(first.at, f"{who} {rest}", more, first.code, {"pods": len(group)}, first.who)


class Failures:
    """Makes the lines of failures. Remembers the pods that have one, and the container that failed last."""

    def __init__(self, view: StoryView) -> None:
        self._view = view
        self._told: set[str] = set()
        self.indexes: dict[int, str] = {}
        """The indexes that failed, each with the container that failed it last."""
        self._said_limit = False

    def lines(self, record: Record) -> Iterator[Line]:
        numbers = record.numbers
        pod = str(numbers.get("pod", ""))
        if pod in self._told:
            return  # the controller repeats reasons after a restart
        self._told.add(pod)
        index = numbers.get("index")
        again = index is not None and int(index) in self.indexes
        yield of_record(record, self._words(numbers, again=again), self._rules(numbers))
        if index is not None:
            self.indexes[int(index)] = str(numbers.get("container", ""))
        if "retryAt" in numbers:
            nth = ordinal(int(numbers.get("failures", 1)))
            words = f"index {index} will be retried at {numbers['retryAt']}"
            words = f"{words} ({nth} failure, {span(float(numbers['seconds']))})"
            yield Line(record.at, words, code=_RETRY, numbers={"index": numbers.get("index", 0)})

    def _words(self, numbers: Mapping[str, Number], *, again: bool) -> str:
        index = numbers.get("index")
        who = f"index {index}" if index is not None else f"pod {numbers.get('pod')}"
        if numbers.get("deleted"):
            said = f"{self._deleted(str(numbers.get('pod')), who)} before it ended, which counts as a failure"
        else:
            said = f"{who} failed{' again' if again else ''}"
            if cause := self._cause(numbers, index):
                said += f": {cause}"
        if numbers.get("indexFailed"):
            if numbers.get("action") == "FailIndex":
                return said
            return f"{said}; its retries are used up, so the index has failed"
        return said

    def _deleted(self, pod: str, who: str) -> str:
        for record in self._view.pod_records:
            if (record.name, record.code) == (pod, ASKED):
                return asked(record, who)
        return f"{who} was deleted"

    def _cause(self, numbers: Mapping[str, Number], index: Number | None) -> str:
        container, reason = str(numbers.get("container", "")), str(numbers.get("reason", ""))
        if not container:
            message = str(numbers.get("message", ""))
            return f"{reason}, {quoted(message)}" if reason and message else reason
        code = numbers.get("exitCode")
        pod = str(numbers.get("pod", ""))
        memory = self._noted(pod, container, "memory") or self._limit(container)
        said = exit_words(code, reason, memory)
        if reason not in ("", "Error", OUT_OF_MEMORY):
            said += f" ({reason})"
        known = index is not None and self.indexes.get(int(index)) == container
        if not known:
            said += f" in container {container}"
        message = str(numbers.get("message", ""))
        if not message or message == memory:
            message = self._noted(pod, container, "message")
        return f"{said}, {quoted(message)}" if message and not known else said

    def _noted(self, pod: str, container: str, what: str) -> str:
        """A value that the node recorded at the container's end: its last words (`message`), or `memory`."""
        for record in reversed(self._view.pod_records):
            told = record.name, record.code, record.numbers.get("container")
            if told == (pod, "ContainerFailed", container):
                return str(record.numbers.get(what, ""))
        return ""

    def _limit(self, container: str) -> str:
        template = self._view.spec.get("template") or {}
        return memory_limit(template.get("spec") or {}, container)

    def _rules(self, numbers: Mapping[str, Number]) -> tuple[str, ...]:
        """The words about the failure policy and, on the first failure, about the number of retries."""
        spec = self._view.spec
        rules: Sequence[Obj] = (spec.get("podFailurePolicy") or {}).get("rules") or []
        said: list[str] = []
        if int(numbers.get("rule", 0)) < 0:
            said.append("it can never start, so the Job fails")
        elif action := numbers.get("action"):
            meaning = _MEANINGS.get(str(action), "")
            said.append(f"rule {numbers.get('rule')} of podFailurePolicy matches: {action}, {meaning}")
        elif len(rules) == 1:
            said.append(f"rule 0 of podFailurePolicy does not match ({_rule(rules[0])})")
        elif rules:
            said.append(f"none of the {len(rules)} rules of podFailurePolicy matches")
        if not self._said_limit and spec:
            self._said_limit = True
            if (limit := spec.get("backoffLimitPerIndex")) is not None:
                said.append(f"backoffLimitPerIndex is {limit}")
            elif (limit := spec.get("backoffLimit")) is not None:
                said.append(f"backoffLimit is {limit}")
        return tuple(["; ".join(said)] if said else [])


def _rule(rule: Obj) -> str:
    """A rule in words: `onExitCodes 42`, `onPodConditions DisruptionTarget`."""
    if codes := rule.get("onExitCodes"):
        values = ", ".join(map(str, codes.get("values") or ()))
        return f"onExitCodes {'not ' if codes.get('operator') == 'NotIn' else ''}{values}"
    types = ", ".join(pattern["type"] for pattern in rule.get("onPodConditions") or ())
    return f"onPodConditions {types}"
