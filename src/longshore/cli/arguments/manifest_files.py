"""Manifests from files, directories, URLs and standard input, one object after the other."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from longshore import __version__
from longshore.api.types import Obj
from longshore.cli.main import Failure, Said

if TYPE_CHECKING:
    from longshore.client.http.http1 import AnswerReader

_BETWEEN: Final = re.compile(rb"(?m)^---(?:[ \t].*)?\r?$")
_FETCH_SECONDS: Final = 30.0
_FETCH_HEADERS: Final = {"User-Agent": f"longshore/{__version__}", "Accept": "*/*", "Connection": "close"}
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MAX_REDIRECTS: Final = 10
_MAX_FETCHED_BYTES: Final = 64 * 2**20
_SUFFIXES: Final = (".json", ".yaml", ".yml")


class Manifest(NamedTuple):
    """An object as written, and its source: a file's name or `STDIN`."""

    obj: Obj
    source: str


def read(names: Iterable[str], *, recursive: bool = False) -> list[Manifest]:
    """All objects of these files, `-` for standard input. Raises Failure for text that is no object."""
    return [each for name in names for each in _named(name, recursive)]


def selected(manifests: list[Manifest], selector: str) -> list[Manifest]:
    """The objects with the labels of a selector; all of them without a selector."""
    from longshore.api.errors import StatusError
    from longshore.api.selectors import labels

    try:
        wanted = labels.parse(selector)
    except StatusError as err:
        raise Said(f"error: --selector: {err.message}", 2) from None
    return [each for each in manifests if wanted.matches(each.obj["metadata"].get("labels") or {})]


def _named(name: str, recursive: bool) -> Iterator[Manifest]:
    if name == "-":
        yield from parse(sys.stdin.buffer.read(), "STDIN")
        return
    if name.startswith(("http://", "https://")):
        yield from parse(_fetched(name), name)
        return
    path = Path(name)
    try:
        if path.is_dir():
            inside = sorted(path.rglob("*") if recursive else path.iterdir())
            for file in (file for file in inside if file.suffix in _SUFFIXES and file.is_file()):
                yield from parse(file.read_bytes(), str(file))
        else:
            yield from parse(path.read_bytes(), name)
    except FileNotFoundError:
        raise Said(f'error: the path "{name}" does not exist', 2) from None
    except OSError as err:
        raise Failure(f"cannot read {name}: {err.strerror}", 2) from None


def _fetched(url: str) -> bytes:
    """The document at a URL, as kubectl takes it after -f."""
    from longshore.client.errors import ConfigError
    from longshore.client.http.http1 import BrokenOff, NoConnection

    at = url
    try:
        for _ in range(_MAX_REDIRECTS):
            reader, content = _asked(at)
            if reader.code not in _REDIRECTS or "location" not in reader.headers:
                break
            at = urljoin(at, reader.headers["location"])
        else:
            raise ValueError(f"stopped after {_MAX_REDIRECTS} redirects")
    except (OSError, ValueError, BrokenOff, NoConnection, ConfigError) as err:
        raise Said(f'error: unable to read URL "{url}": {err}', 2) from None
    if not 200 <= reader.code < 300:
        reason = f"server response code {reader.code} {reader.phrase.decode(errors='replace')}"
        raise Said(f'error: unable to read URL "{url}", {reason}', 2)
    if len(content) > _MAX_FETCHED_BYTES:
        raise Said(f'error: unable to read URL "{url}": more than 64 MiB', 2)
    return content


def _asked(url: str) -> tuple[AnswerReader, bytes]:
    """The answer to one GET, and its body up to the limit."""
    from longshore.client.config.connection import Connection
    from longshore.client.http import http1, proxy, tls
    from longshore.client.http.blocking_driver import BlockingConnection

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{parts.scheme} is neither http nor https")
    server = Connection(f"{parts.scheme}://{parts.netloc}")
    route = http1.route(server.server, proxy.proxy_for(server, os.environ))
    trust = tls.context(server, None) if route.needs_tls else None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with closing(BlockingConnection(route, trust, _FETCH_SECONDS)) as connection:
        connection.ask(route.request("GET", target, _FETCH_HEADERS.items()))
        pieces, size = [], 0
        while size <= _MAX_FETCHED_BYTES and (piece := connection.read()):
            pieces.append(piece)
            size += len(piece)
    return connection.reader, b"".join(pieces)


def parse(raw: bytes, source: str) -> Iterator[Manifest]:
    """The objects of a stream of YAML documents (or one of JSON); lists are taken apart."""
    from longshore.api import codec
    from longshore.api.codec.decoded import DecodeError

    for text in _BETWEEN.split(raw):
        try:
            plain = codec.plain_yaml(text)
        except DecodeError as err:
            raise Said(f"error: error parsing {source}: error converting YAML to JSON: {err}", 2) from None
        if plain.value is None:
            continue  # nothing but comments
        if plain.problems:
            raise Said(f"error: error parsing {source}: {plain.problems[0]}", 2)
        yield from _objects(plain.value, source)


def _objects(value: object, source: str) -> Iterator[Manifest]:
    if not isinstance(value, dict) or not all(isinstance(value.get(k), str) for k in ("apiVersion", "kind")):
        missing = "kind" if isinstance(value, dict) and "apiVersion" in value else "apiVersion"
        raise Said(f'error: error validating "{source}": {missing} not set', 2)
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _objects(item, source)
        return
    if not isinstance(value.get("metadata"), dict):
        raise Said(f'error: error validating "{source}": metadata not set', 2)
    for name in ("name", "generateName", "namespace"):
        if not isinstance(value["metadata"].get(name) or "", str):
            raise Said(f'error: unable to decode "{source}": metadata.{name} is not a text: quote it', 2)
    yield Manifest(value, source)
