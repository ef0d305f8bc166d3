"""HyperNodes: there is a member, and each is selected in one way, by a valid name or pattern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from longshore.api import field, label_syntax
from longshore.api.field import FieldError
from longshore.api.structural import patterns
from longshore.api.types import Obj

_WAYS: Final = ("exactMatch", "regexMatch", "labelMatch")
_NONE: Final = "Either ExactMatch or RegexMatch or LabelMatch must be specified"
_SEVERAL: Final = "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"


def unselected(spec: Obj) -> list[FieldError]:
    """The members whose selector has no way to select, or several: rules of Volcano's definition."""
    problems = []
    for number, member in enumerate(spec.get("members") or ()):
        selector = member.get("selector")
        if selector is None:
            continue
        ways = sum(selector.get(way) is not None for way in _WAYS)
        if ways != 1:
            path = f"spec.members[{number}].selector"
            problems.append(field.invalid(path, "object", _SEVERAL if ways else _NONE))
    return problems


def validate(spec: Obj) -> str:
    """All problems that the webhook finds, in one text."""
    if not spec.get("members"):
        return str(field.invalid("spec.members", field.NO_VALUE, "member must have at least one member"))
    problems = [str(problem) for member in spec.get("members") or () for problem in _wrong(member)]
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _wrong(member: Obj) -> Iterator[FieldError]:
    selector = member.get("selector") or {}
    path = "spec.members.selector"
    if not any(selector.get(way) is not None for way in _WAYS):
        yield field.invalid(path, field.NO_VALUE, "member selector must have one of regexMatch or exactMatch")
    name = (selector.get("exactMatch") or {}).get("name")
    if name and (wrong := label_syntax.qualified_name(name)):
        words = f"member exactMatch validate failed [{' '.join(wrong)}]"
        yield field.invalid(f"{path}.exactMatch.name", name, words)
    pattern = (selector.get("regexMatch") or {}).get("pattern")
    if pattern:
        try:
            patterns.check(pattern)
        except patterns.BadPattern as err:
            words = f"member regexMatch pattern is invalid: {err}"
            yield field.invalid(f"{path}.regexMatch.pattern", pattern, words)
