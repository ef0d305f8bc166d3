"""Explains a kind and its fields, from the server's own schema, as kubectl explain does.

longshore explain job
longshore explain cronjob.spec.schedule
longshore explain pod.spec.containers --recursive
longshore explain jobs.batch.volcano.sh.spec.tasks
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from longshore.api.types import Obj
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.arguments.kinds import Kind, Kinds
    from longshore.cli.server.requests import Server

INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="TYPE[.FIELD…]", help="a kind, or a field of it")
    switch(parser, "--recursive", "-R", help="list the fields of fields, without their descriptions")
    add("--api-version", default="", metavar="V", help="group and version, where a kind has several")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.arguments import kinds

    if len(arguments.words) != 1:
        raise Said(
            "error: You must specify the type of resource to explain. "
            'Use "longshore api-resources" for a complete list of supported resources.',
            2,
        )
    with connecting.opened(arguments) as server:
        kind, path = _found(kinds.discover(server), arguments.words[0].rstrip("."))
        if arguments.api_version:
            group, _, version = arguments.api_version.rpartition("/")
            if group != kind.group:
                raise Said(f'error: couldn\'t find resource for "{group}/{version}, Resource={kind.plural}"')
            kind = kind._replace(version=version)
        text = Explained(_document(server, kind))
    schema = text.kind(kind.group, kind.version, kind.kind)
    if schema is None:
        raise Said(f"error: the server describes no {kind.kind} in {kind.api_version}")
    group = f"GROUP:      {kind.group}\n" if kind.group else ""
    sys.stdout.write(f"{group}KIND:       {kind.kind}\nVERSION:    {kind.version}\n\n")
    try:
        sys.stdout.write(text.text(schema, path, recursive=arguments.recursive))
    except NoSuchField as err:
        raise Said(f"error: {err}") from None
    return 0


def _found(kinds: Kinds, word: str) -> tuple[Kind, list[str]]:
    """The kind and the path that a word names, with an optional group between them."""
    first, *path = word.split(".")
    for taken in range(len(path), 0, -1):
        group = ".".join(path[:taken])
        for kind in kinds.rows:
            if kind.group == group and first in (kind.plural, kind.singular, *kind.short_names):
                return kind, path[taken:]
    found = kinds.named(first)
    if found is None:
        raise Said(f'the server doesn\'t have a resource type "{first}"')
    return found, path


def _document(server: Server, kind: Kind) -> Obj:
    """The OpenAPI document of a kind's group and version."""
    index = server.json("GET", "/openapi/v3")
    path = f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"
    found = (index.get("paths") or {}).get(path)
    if found is None:
        raise Said(
            f'error: couldn\'t find resource for "{kind.group}/{kind.version}, Resource={kind.plural}"'
        )
    address, _, query = found["serverRelativeURL"].partition("?")
    return server.json("GET", address, query=dict([query.partition("=")[::2]]) if query else None)


_WIDTH: Final = 76
_MAX_LISTED_VALUES: Final = 4


class NoSuchField(Exception):
    """The message names the field."""


class Explained:
    """The text about one kind. `document` is the OpenAPI document of its group and version."""

    def __init__(self, document: Obj) -> None:
        self._schemas: Mapping[str, Obj] = document["components"]["schemas"]

    def kind(self, group: str, version: str, kind: str) -> Obj | None:
        """The schema of a kind; None when the document has none."""
        wanted = {"group": group, "version": version, "kind": kind}
        for schema in self._schemas.values():
            if wanted in schema.get("x-kubernetes-group-version-kind", ()):
                return schema
        return None

    def text(self, schema: Obj, path: Sequence[str], *, recursive: bool) -> str:
        """Everything below the heading: the field at `path`, its description and its fields."""
        for name in path[:-1]:
            schema = self._field(schema, name)
        begun = ""
        if path:
            schema = self._field(schema, path[-1])
            begun = f"FIELD: {path[-1]} <{self._type(schema)}>\n{_enum_block(self._enum(schema))}\n"
        described = "".join(f"{each}\n" for each in self._descriptions(schema)) or "<empty>"
        fields = self._fields(schema, 1, recursive, frozenset())
        listed = f"FIELDS:\n{fields}" if fields else ""
        return f"{begun}DESCRIPTION:\n{_indented(described, 4)}\n{listed}\n"

    def _field(self, schema: Obj, name: str) -> Obj:
        for each in self._unfolded(schema):
            if name in (each.get("properties") or {}):
                found: Obj = each["properties"][name]
                return found
        raise NoSuchField(f'field "{name}" does not exist')

    def _unfolded(self, schema: Any) -> Iterator[Obj]:
        """Yields a schema, and the schemas that it is made of: by reference, as items, as values."""
        if not isinstance(schema, dict):
            return
        yield schema
        if "$ref" in schema:
            yield from self._unfolded(self._resolved(schema))
        for part in (*(schema.get("allOf") or ()), schema.get("items"), schema.get("additionalProperties")):
            yield from self._unfolded(part)

    def _resolved(self, schema: Obj) -> Obj:
        return self._schemas.get(schema["$ref"].rpartition("/")[2], {})

    def _descriptions(self, schema: Obj) -> list[str]:
        return [each["description"] for each in self._unfolded(schema) if each.get("description")]

    def _enum(self, schema: Obj) -> list[str]:
        for each in self._unfolded(schema):
            if each.get("enum"):
                return [str(value) for value in each["enum"]]
        return []

    def _type(self, schema: Obj) -> str:
        if schema.get("items"):
            return f"[]{self._type(schema['items'])}"
        if isinstance(schema.get("additionalProperties"), dict):
            return f"map[string]{self._type(schema['additionalProperties'])}"
        if len(schema.get("allOf") or ()) == 1 and not schema.get("properties"):
            return self._type(schema["allOf"][0])
        if "$ref" in schema:
            type = self._resolved(schema).get("type", "object")
            return str(schema["$ref"].rpartition(".")[2] if type == "object" else type)
        type = schema.get("type", "object")
        return "Object" if type == "object" else str(type)

    def _fields(self, schema: Obj, level: int, recursive: bool, seen: frozenset[str]) -> str:
        """The lines of all fields, by name. `seen` are the references so far: each is unfolded once."""
        parts = [each for each in self._unfolded(schema) if each.get("properties")]
        if not parts:
            return ""
        refs = frozenset(each["$ref"] for each in self._unfolded(schema) if "$ref" in each)
        if refs & seen:
            return ""
        margin, out = "  " * level, ""
        for name, field in sorted(parts[0]["properties"].items()):
            required = " -required-" if name in (parts[0].get("required") or ()) else ""
            out += f"{margin}{name}\t<{self._type(field)}>{required}\n"
            if enum := self._enum(field):
                shown = enum if len(enum) <= _MAX_LISTED_VALUES else [*enum[:_MAX_LISTED_VALUES], "...."]
                out += f"{margin}enum: {', '.join(shown)}\n"
            if recursive:
                out += self._fields(field, level + 1, recursive, seen | refs)
            else:
                out += _indented(field.get("description") or "<no description>", 4) + "\n\n"
        return out


def _enum_block(values: Sequence[str]) -> str:
    return "".join(["ENUM:\n", *(f"    {value}\n" for value in values)]) if values else "\n"


def _indented(text: str, margin: int) -> str:
    lines = [line for given in text.split("\n") for line in _wrapped(given)]
    return "\n".join(" " * margin + line for line in lines)


def _wrapped(line: str) -> list[str]:
    """Wraps one line at 76 characters; longer words stay whole."""
    out = [""]
    for word in line.split(" "):
        if out[-1] and len(out[-1]) + 1 + len(word) > _WIDTH:
            out.append(word)
        else:
            out[-1] += f" {word}" if out[-1] else word
    return out
