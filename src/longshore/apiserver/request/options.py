"""Query parameters: reads the options of each verb and checks them, with Kubernetes' messages."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from longshore.api import errors, field
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.apiserver.request.call import Call

_FIELD_VALIDATION: Final = ("", "Ignore", "Strict", "Warn")
_MAX_DIGITS: Final = 19  # digits of the greatest number
_POLICIES: Final = ("Foreground", "Background", "Orphan")


class WriteOptions(msgspec.Struct, frozen=True):
    """Options of create, update and patch."""

    dry_run: bool
    manager: str
    field_validation: str
    force: bool | None = None


def write_options(call: Call, kind: str) -> WriteOptions:
    """Checks the options of a write. `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    applies = kind == "PatchOptions" and is_apply(call.content_type)
    if not applies:
        named = call.query.get("fieldManager") if call.query else None
        if len(call.query) == (named is not None):
            usual = _usual(named[0] if named else "", call.agent)
            if usual is not None:
                return usual
    problems: list[FieldError] = []
    dry = list(call.query.get("dryRun", ()))
    if dry and set(dry) != {"All"}:
        problems.append(field.not_supported("dryRun", dry, ("All",)))
    manager = call.one("fieldManager")
    force = None
    if kind == "PatchOptions":
        force = truth(call.one("force")) if "force" in call.query else None
        if applies and not manager:
            problems.append(field.required("fieldManager", "is required for apply patch"))
        elif not applies and force is not None:
            problems.append(field.forbidden("force", "may not be specified for non-apply patch"))
    problems += _manager_problems(manager)
    validation = call.one("fieldValidation")
    if validation not in _FIELD_VALIDATION:
        problems.append(field.not_supported("fieldValidation", validation, _FIELD_VALIDATION))
    if problems:
        raise errors.invalid("meta.k8s.io", kind, "", problems)
    return WriteOptions(bool(dry), manager or manager_of(call.agent), validation or "Warn", force)


@lru_cache(maxsize=256)
def _usual(manager: str, agent: str) -> WriteOptions | None:
    """The options of a write that names at most its manager; None for a name that is refused."""
    return None if _manager_problems(manager) else WriteOptions(False, manager or manager_of(agent), "Warn")


@lru_cache(maxsize=64)
def is_apply(content_type: str | None) -> bool:
    """Whether a PATCH is a server-side apply."""
    return (content_type or "").partition(";")[0].strip() in (
        "application/apply-patch+yaml",
        "application/apply-patch+cbor",
    )


@lru_cache(maxsize=256)
def manager_of(agent: str) -> str:
    """The field manager of a client that names none: its User-Agent up to the first slash."""
    return agent.partition("/")[0][:128]


@lru_cache(maxsize=256)
def _manager_problems(manager: str) -> tuple[FieldError, ...]:
    if len(manager.encode()) > 128:
        return (field.too_long("fieldManager", 128),)
    for at, ch in enumerate(manager):
        if not ch.isprintable():
            text = f"invalid character U+{ord(ch):04X} (at position {at})"
            return (field.invalid("fieldManager", manager, text),)
    return ()


def truth(text: str) -> bool:
    """Reads a boolean query parameter as Kubernetes does: all but `false`, `0` and an empty text is true."""
    return text.lower() not in ("false", "0", "")


def watch_wanted(call: Call) -> bool:
    """Whether a GET of a collection is a watch."""
    return "watch" in call.query and truth(call.one("watch"))


class ListOptions(msgspec.Struct, frozen=True):
    """Options of list and watch. `revision` is empty if the client named none."""

    label_selector: str
    field_selector: str
    limit: int
    continue_: str
    revision: str
    match: str
    timeout: float | None
    bookmarks: bool
    initial_events: bool | None


def list_options(call: Call, *, watch: bool) -> ListOptions:
    initial = truth(call.one("sendInitialEvents")) if "sendInitialEvents" in call.query else None
    out = ListOptions(
        label_selector=call.one("labelSelector"),
        field_selector=call.one("fieldSelector"),
        limit=integer(call.one("limit")) or 0,
        continue_=call.one("continue"),
        revision=call.one("resourceVersion"),
        match=call.one("resourceVersionMatch"),
        timeout=integer(call.one("timeoutSeconds")),
        bookmarks=truth(call.one("allowWatchBookmarks")),
        initial_events=initial,
    )
    problems = _watch_problems(out) if watch else _list_problems(out)
    if problems:
        raise errors.invalid("meta.k8s.io", "ListOptions", "", problems)
    return out


def integer(text: str) -> int | None:
    """A whole number, or None for an option that is missing."""
    return parse_int(text) if text else None


def parse_int(text: str) -> int:
    """A whole number as Go's ParseInt reads it; 400 with Go's text when it is none."""
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if not digits.isascii() or not digits.isdigit():
        raise errors.bad_request(f"strconv.ParseInt: parsing {field.quoted(text)}: invalid syntax")
    digits = digits.lstrip("0") or "0"
    number = int(sign + digits) if len(digits) <= _MAX_DIGITS else 2**63
    if not -(2**63) <= number < 2**63:
        raise errors.bad_request(f"strconv.ParseInt: parsing {field.quoted(text)}: value out of range")
    return number


def _watch_problems(o: ListOptions) -> list[FieldError]:
    where = "resourceVersionMatch"
    if o.initial_events is None:
        if o.match:
            return [
                field.forbidden(where, f"{where} is forbidden for watch unless sendInitialEvents is provided")
            ]
        return []
    problems = []
    if o.match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        problems.append(field.forbidden(where, text))
        if o.match:
            problems.append(field.not_supported(where, o.match, ("NotOlderThan",)))
    return problems


def _list_problems(o: ListOptions) -> list[FieldError]:
    where = "resourceVersionMatch"
    problems = []
    if o.match:
        if not o.revision:
            problems.append(
                field.forbidden(where, f"{where} is forbidden unless resourceVersion is provided")
            )
        if o.continue_:
            problems.append(field.forbidden(where, f"{where} is forbidden when continue is provided"))
        if o.match not in ("Exact", "NotOlderThan"):
            problems.append(field.not_supported(where, o.match, ("Exact", "NotOlderThan", "")))
        if o.match == "Exact" and o.revision == "0":
            problems.append(field.forbidden(where, f'{where} "exact" is forbidden for resourceVersion "0"'))
    if o.initial_events is not None:
        problems.append(field.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return problems


class DeleteOptions(msgspec.Struct, frozen=True):
    """The options of a DELETE. `policy` is None when the client chose none."""

    grace: int | None
    uid: str | None
    revision: str | None
    orphan_dependents: bool | None
    policy: str | None
    dry_run: bool


def delete_options(options: Obj) -> DeleteOptions:
    """Checks decoded DeleteOptions, as `delete_options.options_from` reads them."""
    problems: list[FieldError] = []
    orphan, policy = options.get("orphanDependents"), options.get("propagationPolicy")
    if orphan is not None and policy is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(field.invalid("propagationPolicy", policy, text))
    if policy is not None and policy not in _POLICIES:
        problems.append(field.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    dry = options.get("dryRun") or []
    if dry and set(dry) != {"All"}:
        problems.append(field.not_supported("dryRun", dry, ("All",)))
    if problems:
        raise errors.invalid("meta.k8s.io", "DeleteOptions", "", problems)
    pre = options.get("preconditions") or {}
    return DeleteOptions(
        options.get("gracePeriodSeconds"),
        pre.get("uid"),
        pre.get("resourceVersion"),
        orphan,
        policy,
        bool(dry),
    )
