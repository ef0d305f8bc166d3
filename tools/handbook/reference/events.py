"""Every event that longshore writes, found where the code names it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from handbook.reference import source
from handbook.reference.markdown import cell, code, page, table
from longshore.machinery import catalogue

TYPES = ("Normal", "Warning")
_REASON = re.compile(r"[A-Z][A-Za-z]+")
_CARRIERS = {
    "Outcome": 1,
    "NotReady": 0,
    "Verdict": 0,
    "_failed": 0,
    "_lost": 0,
    "_told": 0,
    "_unprepared": 1,
}
"""Calls whose reason becomes an event's later on, and at which place they have it."""
_ROOMS = ("controllers/", "machinery/", "node/", "scheduler/", "up/")
_SCRIPTED = "testing/"
"""The scripted engine writes events as a kubelet does."""


class Event(NamedTuple):
    reason: str
    type: str
    """Normal or Warning; empty where the code decides between them."""
    room: str
    """The folder that writes it, `controllers/cronjob`."""
    words: str
    """Its text, with `…` for what is filled in; empty if it is put together elsewhere."""


_COMPUTED = (
    ("Suspended", "Normal", "controllers/job/ends", "Job suspended"),
    ("Resumed", "Normal", "controllers/job/ends", "Job resumed"),
    ("OutOf…", "Warning", "node", "Pod was rejected: …"),
)
"""Events whose reason the code puts together."""


def found() -> list[Event]:
    """Each event once per room, sorted by reason."""
    events: dict[tuple[str, str], Event] = {}
    for event in _all():
        key = event.reason, event.room
        before = events.get(key)
        if before is None or (event.words and not before.words):
            events[key] = event
    return sorted(events.values())


def text() -> str:
    rows = [[code(e.reason), e.type, code(e.room), cell(e.words)] for e in found()]
    return page(
        "Events and reasons",
        "`longshore events` shows events; conditions of Jobs and pods carry some of the reasons. Kubernetes "
        "and Volcano use the same words for the same things. `…` stands for what differs from case to case.",
        table(("reason", "type", "written by", "text"), rows),
    )


def _of_catalogue() -> Iterator[Event]:
    """The Events of the catalogue of reasons, in the rooms that name their codes."""
    announced = {
        source.named(module, call.args[0])
        for module, call in source.calls()
        if getattr(call.func, "attr", "") == "announce"
    }
    for code_, row in catalogue.ROWS.items():
        event = row.event or (catalogue.Event("Normal") if code_ in announced else None)
        if event is None:
            continue
        reason, form = event.reason or code_, event.message or row.now
        first = form if isinstance(form, str) else form[0] if isinstance(form, tuple) else ""
        type_ = "" if row.place is catalogue.Place.VERDICT else event.type
        for room in _rooms_by_text().get(code_, ()) if _REASON.fullmatch(reason) else ():
            yield Event(reason, type_, room, re.sub(r"\{[^{}]*\}", "…", first))


@functools.cache
def _rooms_by_text() -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = {}
    for module in source.modules():
        room = module.name.rpartition("/")[0]
        for node in source.nodes(module) if room.startswith(_ROOMS) and "catalogue" not in room else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                rooms.setdefault(node.value, set()).add(room)
    return rooms


def _all() -> Iterator[Event]:
    yield from (Event(*each) for each in _COMPUTED)
    yield from _of_catalogue()
    for module in source.modules():
        room = module.name.rpartition("/")[0]
        for node in source.nodes(module) if module.name.startswith((*_ROOMS, _SCRIPTED)) else ():
            if isinstance(node, ast.Tuple) and len(node.elts) == 3 and source.literal(node.elts[0]) in TYPES:
                yield from _reasons(module, node.elts, 1, source.literal(node.elts[0]) or "", room)
    for module, call in source.calls():
        if not module.name.startswith(_ROOMS):
            continue
        room = module.name.rpartition("/")[0]
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        strings = [source.named(module, argument) for argument in call.args]
        for number, value in enumerate(strings[:-1]):
            if value in TYPES:
                yield from _reasons(module, call.args, number + 1, value or "", room)
        if (at := _CARRIERS.get(called)) is not None and at < len(call.args):
            good = called == "_told" or "SuccessCriteriaMet" in strings
            yield from _reasons(module, call.args, at, "Normal" if good else "Warning", room)
        if called in ("normal", "warning") and len(call.args) > 1:
            yield from _reasons(module, call.args, 0, called.capitalize(), room)


def _reasons(
    module: source.Module, arguments: list[ast.expr], at: int, type_: str, room: str
) -> Iterator[Event]:
    words = _shape(module, arguments[at + 1]) if at + 1 < len(arguments) else ""
    for node in _branches(arguments[at]):
        reason = source.named(module, node)
        if reason is not None and _REASON.fullmatch(reason):
            yield Event(reason, type_, room, words)


def _branches(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from (*_branches(node.body), *_branches(node.orelse))
    else:
        yield node


def _shape(module: source.Module, node: ast.expr) -> str:
    """A text with what is filled in left out."""
    if isinstance(node, ast.JoinedStr):
        return "".join(source.literal(part) or "…" for part in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return re.sub(r"\{[^{}]*\}", "…", source.named(module, node.func.value) or "")
    return source.named(module, node) or ""
