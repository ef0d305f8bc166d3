"""Reports of runs, in one line each, for the display by lines and for the end of the live display."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api import indexes
from longshore.cli.running.progress import Failed, FollowedRun

_MAX_NAMED_ITEMS: Final = 10
_MAX_ITEM_CHARACTERS: Final = 200


def span(seconds: float) -> str:
    """`0.8 s`, `42 s`, `3:07`, `1:02:03`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def counts(run: FollowedRun) -> str:
    """`312/1000 complete, 8 active, 2 failed, 678 waiting`."""
    whole = f"{run.succeeded}/{run.total}" if run.total is not None else str(run.succeeded)
    parts = [f"{whole} complete"]
    if run.active:
        parts.append(f"{run.active} active")
    if run.failed:
        parts.append(f"{run.failed} failed")
    if run.waiting:
        parts.append(f"{run.waiting} waiting")
    return ", ".join(parts)


def state(run: FollowedRun) -> str:
    """Why nothing moves, an unreachable server first; empty while no reason is known."""
    if run.away:
        return f"waiting for the server: {run.away} does not answer"
    return f"waits: {run.waits}" if run.waits else ""


def begun(run: FollowedRun) -> str:
    if run.found:
        return f"{run.title} {counts(run)}"
    if run.kind == "pod":
        return f"{run.title} created"
    total = "work until done" if run.total is None else _times(run.total, "completion")
    return f"{run.title} created: {total}, {run.parallelism if run.kind == 'job' else run.total} at a time"


def ended(run: FollowedRun) -> str:
    """The end of a run and the time it took."""
    assert run.end is not None
    took = span(run.finished - run.started)
    if run.end.well:
        if run.kind == "vcjob" and run.succeeded < (run.total or 0):
            return f"{run.title} complete in {took}"  # Volcano counts no pods of a Job that a policy ended
        retried = f", {_times(run.failed, 'failed pod')} on the way" if run.failed else ""
        return f"{run.title} complete in {took}: {run.succeeded} of {run.total or run.succeeded}{retried}"
    text = f"{run.title} {run.end.text} (after {took}, {counts(run)})"
    return text + _lost(run)


def _lost(run: FollowedRun) -> str:
    """The indexes that failed for good: by item if there are items and not too many, else by number."""
    if not run.lost:
        return ""
    names = [run.item(index) for first, last in run.lost for index in range(first, last + 1)]
    if all(names) and len(names) <= _MAX_NAMED_ITEMS:
        return f"; failed: {', '.join(map(_in_one_line, names))}"
    return f"; failed indexes: {indexes.write(run.lost)}"


def left(run: FollowedRun, *, stays: bool) -> str:
    """The work that is left of a stopped run, and what became of it on a server that `stays`."""
    what, verb = ("suspended", "suspend") if run.kind == "job" else ("deleted", "delete")
    where = f"{run.title}{_in_namespace(run)}"
    if run.stop_problem:
        text = f"{run.title} could not be {what}, so it may go on: {counts(run)}; stop it with: longshore"
        return f"{text} {verb} {where} ({run.stop_problem})"
    text = f"{run.title} was stopped: {counts(run)}"
    if over := run.under_way():
        who, was = ("index", "was") if len(over) == 1 else ("indexes", "were")
        verb = "waited" if run.waits else f"{was} running"
        text += f"; {who} {indexes.write(indexes.from_sorted(over))} {verb}"
    if stays:
        text += f"; it is {what}"
        text += f", go on with: longshore resume {where}" if run.kind == "job" else ""
    return text


def again(run: FollowedRun) -> str:
    """How to run the rest of a Job."""
    return f"run what is left of it with: longshore retry {run.title}{_in_namespace(run)}"


def going_on(run: FollowedRun) -> str:
    """Says that a run goes on after its display has ended."""
    text = f"{run.title} goes on: {counts(run)}; look again with: longshore run --attach {run.title}"
    return text + _in_namespace(run)


def failed(run: FollowedRun, failure: Failed) -> str:
    who = f"index {failure.index}" if failure.index is not None else f"pod {failure.pod}"
    if failure.item:
        who += f" ({_in_one_line(failure.item)})"
    return f"{run.title} {who} failed: {failure.why}"


def _in_one_line(item: str) -> str:
    """The beginning of an item, with line ends and other control characters escaped, as in `\\n`."""
    begun = item if len(item) <= _MAX_ITEM_CHARACTERS else f"{item[: _MAX_ITEM_CHARACTERS - 1]}…"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in begun)


def _in_namespace(run: FollowedRun) -> str:
    """The flag that ends a command about the run: `-n NAMESPACE`, unless it is `default`."""
    return f" -n {run.namespace}" if run.namespace != "default" else ""


def _times(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def summary(runs: Iterable[FollowedRun]) -> str:
    """One line for all runs; empty for a single run, which has its own line."""
    every = list(runs)
    if len(every) < 2:
        return ""
    well = sum(run.end is not None and run.end.well for run in every)
    failed = sum(run.end is not None and not run.end.well for run in every)
    open_ = len(every) - well - failed
    parts = [f"{well} complete"] + [f"{failed} failed"] * bool(failed) + [f"{open_} unfinished"] * bool(open_)
    return f"{len(every)} runs: {', '.join(parts)}"
