"""Every kind that the server has from the start, and every field of it, from the schema tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from handbook.reference.markdown import cell, code, page, table
from longshore.api import schema
from longshore.api.kinds.table import RESOURCES
from longshore.api.resources import Resource
from longshore.apiserver.openapi import descriptions

SHARED = "fields-shared"


def pages() -> Iterator[tuple[str, str]]:
    """The list of kinds, a page for each group of kinds, and one for the types that several groups share."""
    yield "kinds", _kinds()
    for group in groups():
        rows = [row for row in RESOURCES if row.group_version == group and message_of(row)]
        yield slug(group), page(f"Fields of {group}", _intro(rows), *_messages(slug(group)))
    yield SHARED, page("Fields that several groups share", *_messages(SHARED))


def _messages(home: str) -> list[str]:
    return [_message(message) for message, where in homes().items() if where == home]


def message_of(row: Resource) -> str:
    """The id of the message that describes a kind; empty where no table has one."""
    own = f"{row.group_version}.{row.kind}"
    return row.message or (own if schema.has(own) else "")


def groups() -> list[str]:
    return list(dict.fromkeys(row.group_version for row in RESOURCES if message_of(row)))


def slug(group: str) -> str:
    return "fields-" + group.replace("/", "-").replace(".", "-")


def _kinds() -> str:
    rows = [
        [
            _link(row),
            code(row.group_version),
            code(", ".join((row.plural, *row.short_names))),
            "namespace" if row.namespaced else "cluster",
            cell(", ".join(row.verbs)),
            cell(", ".join(row.subresources)),
        ]
        for row in RESOURCES
    ]
    heads = ("kind", "group and version", "names", "belongs to", "verbs", "subresources")
    return page(
        "Kinds",
        "`kubectl api-resources` shows these too, with the custom kinds of your own.",
        table(heads, rows),
    )


def _link(row: Resource) -> str:
    message = message_of(row)
    return f"[{row.kind}]({homes()[message]}.md#{_anchor(message)})" if message else row.kind


def _intro(rows: list[Resource]) -> str:
    return "Kinds: " + ", ".join(_link(row) for row in rows) + "."


def _references(message: str) -> Iterator[str]:
    for field in schema.message(message).fields.values():
        type_ = field.type
        while type_.element is not None:
            type_ = type_.element
        if type_.kind == "message" and schema.has(type_.name):
            yield type_.name


def _reachable(roots: Iterator[str]) -> list[str]:
    """The messages and what they are made of, each once, in the order a reader meets them."""
    found: dict[str, None] = {}
    waiting = list(roots)
    while waiting:
        message = waiting.pop(0)
        if message not in found and schema.has(message):
            found[message] = None
            waiting = [*_references(message), *waiting]
    return list(found)


@cache
def homes() -> dict[str, str]:
    """The page on which each message is described."""
    users: dict[str, set[str]] = {}
    for group in groups():
        roots = (message_of(row) for row in RESOURCES if row.group_version == group)
        for message in _reachable(roots):
            users.setdefault(message, set()).add(group)
    kinds = {message_of(row): row.group_version for row in reversed(RESOURCES)}
    found = {}
    for message, groups_ in users.items():
        own = kinds.get(message) or (next(iter(groups_)) if len(groups_) == 1 else "")
        found[message] = slug(own) if own else SHARED
    return found


def _anchor(message: str) -> str:
    return message.lower().replace("/", "").replace(".", "")


def _message(message: str) -> str:
    rows = []
    for name, field in schema.message(message).fields.items():
        about = descriptions.of_field(message, name)
        if field.enum:
            about = f"{about} One of {', '.join(field.enum)}.".strip()
        needed = "yes" if field.required else ""
        rows.append([code(name), _type(field.type), needed, cell(about)])
    about = cell(descriptions.of_message(message))
    return f"## {message}\n\n{about}\n\n{table(('field', 'type', 'required', 'meaning'), rows)}"


def _type(type_: schema.Type) -> str:
    if type_.kind == "list":
        return f"list of {_type(type_.items)}"
    if type_.kind == "map":
        return f"map of {_type(type_.items)}"
    if type_.kind == "message" and schema.has(type_.name):
        return f"[{type_.name.rpartition('.')[2]}]({homes()[type_.name]}.md#{_anchor(type_.name)})"
    return type_.name
