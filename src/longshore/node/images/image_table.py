"""The table of images: patterns of image names, and what a container of such an image runs here. Pure.

`BUILT_IN` has the rows that longshore knows by itself; a user's row of the same or a narrower pattern wins.

    "*/pause:*": [sleep, infinity]
    "nginx:*": {command: [nginx], args: [-g, daemon off;]}
    "python:*": {path: ~/.pyenv/versions/3.12.4/bin}

Image names are completed as Kubernetes does before they are compared; so is a pattern, unless it begins with
`*`. If several patterns match, the one with most literal characters wins; among equal ones, that of the
user's file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from fnmatch import translate
from typing import Any, Final, Literal, NamedTuple

import msgspec

_FIELDS: Final = ("command", "args", "path", "applets")
_SHAPE: Final = "a list of words, or a mapping with some of command, args, path and applets"
_WILD: Final = re.compile(r"[*?]|\[[^\]]*\]")
_MAX_REMEMBERED: Final = 4096

Source = Literal["file", "built-in"]


class BadImages(Exception):
    """The table of images has a mistake; the message names the entry, the field and the rule."""


class ImageEntry(msgspec.Struct, frozen=True):
    """The meaning of an image. An empty entry means that its containers have commands of their own."""

    command: tuple[str, ...] = ()
    """The image's entry point: runs if a container has no `command`, before the container's `args`."""
    args: tuple[str, ...] = ()
    """Runs after `command` if a container has neither `command` nor `args`."""
    path: tuple[str, ...] = ()
    """Directories that come first in PATH."""
    applets: str = ""
    """A program such as busybox, whose applets come before all else in PATH, and whose `sh` is /bin/sh."""


class Row(msgspec.Struct, frozen=True):
    pattern: str
    entry: ImageEntry
    source: Source


class ImageTable:
    """The rows of the user's file, then the built-in ones."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._patterns = sorted(
            (_Pattern(row) for row in self.rows), key=lambda each: each.rank, reverse=True
        )
        self._found: dict[str, Row | None] = {}

    def find(self, image: str) -> Row | None:
        """The row that says what an image means; None if none does."""
        try:
            return self._found[image]
        except KeyError:
            pass
        name = complete_name(image)
        found = next((pattern.row for pattern in self._patterns if pattern.matches(name)), None)
        if len(self._found) >= _MAX_REMEMBERED:
            self._found.clear()
        self._found[image] = found
        return found


class _Pattern:
    def __init__(self, row: Row) -> None:
        self.row = row
        repository, tag, digest = split_name(row.pattern)
        if not repository.startswith("*"):
            repository = with_registry(repository)
        tag, digest = tag or "*", digest or "*"
        self._parts = tuple(re.compile(translate(part)).match for part in (repository, tag, digest))
        self.rank = (*_letters(repository), *_letters(f"{tag}{digest}"), row.source == "file")

    def matches(self, name: Name) -> bool:
        return all(match(part) for match, part in zip(self._parts, name, strict=True))


def _letters(pattern: str) -> tuple[int, int]:
    """How specific a pattern is: by its literal characters, then by fewer wildcards."""
    return len(_WILD.sub("", pattern)), -len(_WILD.findall(pattern))


def no_command(container: str, image: str, row: Row | None) -> str:
    """Why a container has nothing to run, and the ways out."""
    repository, _, _ = split_name(image)
    add = f"longshore images add {shlex.quote(f'{repository}:*')} -- COMMAND"
    if row is not None:
        known = f'the entry "{row.pattern}" for its image "{image}" names none'
    else:
        known = f'longshore does not know what its image "{image}" runs'
    return (
        f'no command specified: container "{container}" has none, and {known}. '
        f"Tell it with: {add}; or give the container a command; or run real images with podman "
        "(runtimeClassName: podman)"
    )


def rows_of(content: Any, source: Source) -> tuple[Row, ...]:
    """The rows of a file's content, in its order. Raises BadImages."""
    if content is None:
        return ()
    if not isinstance(content, Mapping):
        raise BadImages(
            f"it must be a mapping from patterns of image names to {_SHAPE}, not {_kind(content)}"
        )
    return tuple(Row(_pattern(key), entry_of(key, value), source) for key, value in content.items())


def entry_of(pattern: str, value: Any) -> ImageEntry:
    """The entry that a value of the file means. A list is a `command`. Raises BadImages."""
    if isinstance(value, list):
        return ImageEntry(command=_words(f'"{pattern}"', value))
    if not isinstance(value, Mapping):
        raise BadImages(f'"{pattern}": it must be {_SHAPE}, not {_kind(value)}')
    for field in value:
        if field not in _FIELDS:
            raise BadImages(f'"{pattern}": there is no field "{field}"; there are: {", ".join(_FIELDS)}')
    path = value.get("path", [])
    path = _words(f'"{pattern}".path', [path] if isinstance(path, str) else path, empty=True)
    for directory in path:
        if not directory.startswith(("/", "~")):
            raise BadImages(f'"{pattern}".path: "{directory}" must begin with / or ~')
        if ":" in directory:
            raise BadImages(
                f'"{pattern}".path: "{directory}" holds a colon; write several directories as a list'
            )
    applets = value.get("applets", "")
    if not isinstance(applets, str):
        raise BadImages(f'"{pattern}".applets: it must be the name of a program, not {_kind(applets)}')
    words = {field: _words(f'"{pattern}".{field}', value[field]) for field in _FIELDS[:2] if field in value}
    return ImageEntry(path=path, applets=applets, **words)


def _pattern(text: str) -> str:
    if not text or text != text.strip() or split_name(text)[0].endswith("/"):
        raise BadImages(
            f'"{text}" is no pattern of image names, such as "nginx:*" or "registry.example/tools/*"'
        )
    return text


def _words(place: str, value: Any, *, empty: bool = False) -> tuple[str, ...]:
    if not isinstance(value, list) or not (value or empty):
        raise BadImages(f"{place}: it must be a list of words, not {_kind(value)}")
    for word in value:
        if not isinstance(word, str):
            raise BadImages(f"{place}: {_kind(word)} must be a text; write it in quotes")
        if "\0" in word:
            raise BadImages(f"{place}: a word holds a zero byte, which no command can")
    return tuple(value)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the text "{value}"'
        case list():
            return "a list" if value else "an empty list"
    return "a mapping"


_LATEST: Final = "latest"


class Name(NamedTuple):
    repository: str
    """Registry and path: `docker.io/library/busybox`."""
    tag: str
    """Empty if the name has only a digest."""
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}{'@' if self.digest else ''}{self.digest}"


def complete_name(image: str) -> Name:
    """The name with Docker's registry if it has none, and with `latest` if it has no tag or digest."""
    repository, tag, digest = split_name(image)
    return Name(with_registry(repository), tag or ("" if digest else _LATEST), digest)


def split_name(text: str) -> tuple[str, str, str]:
    """Repository, tag and digest as written; a missing part is empty."""
    whole, _, digest = text.partition("@")
    above, slash, last = whole.rpartition("/")
    name, _, tag = last.partition(":")
    return above + slash + name, tag, digest


def with_registry(repository: str) -> str:
    first, slash, _ = repository.partition("/")
    if not slash:
        return f"docker.io/library/{repository}"
    if "." in first or ":" in first or first == "localhost":
        return repository
    return f"docker.io/{repository}"


PAUSE: Final = ("sh", "-c", 'trap "kill \\$!; exit 0" INT TERM; while :; do sleep 86400 & wait; done')
"""Waits for SIGTERM or SIGINT and exits with 0. As the first process of a container it also reaps orphans,
because the shell's `wait` does."""
_SHELL: Final = ImageEntry(args=("sh",))
HOST: Final = "host"
"""The image name in pods of `longshore run -- COMMAND`; it stands for no image."""

BUILT_IN: Final = tuple(
    Row(pattern, entry, "built-in")
    for pattern, entry in (
        (HOST, ImageEntry()),
        ("*/pause:*", ImageEntry(command=PAUSE)),
        ("*/pause-*:*", ImageEntry(command=PAUSE)),
        ("*/busybox:*", ImageEntry(args=("sh",), applets="busybox")),
        ("*/alpine:*", _SHELL),
        ("*/debian:*", _SHELL),
        ("*/ubuntu:*", _SHELL),
    )
)
BUILT_IN_TABLE: Final = ImageTable(BUILT_IN)
