"""Manifests from files, directories, URLs and standard input, one object after the other."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from longshore.api.types import Obj
from longshore.cli.main import Failure, Said

_BETWEEN: Final = re.compile(rb"(?m)^---(?:[ \t].*)?\r?$")
_FETCH_SECONDS: Final = 30.0
_MAX_FETCHED_BYTES: Final = 64 * 2**20
_SUFFIXES: Final = (".json", ".yaml", ".yml")


class Manifest(NamedTuple):
    """An object as written, and its source: a file's name or `STDIN`."""

    obj: Obj
    source: str


def read(names: Iterable[str], *, recursive: bool = False) -> list[Manifest]:
    """All objects of these files, `-` for standard input. Raises Failure for text that is no object."""
    return [each for name in names for each in _named(name, recursive)]


def given(filenames: Iterable[str], kustomize: str, *, recursive: bool = False) -> list[Manifest]:
    """The objects of `-f` or of `-k`, which exclude each other."""
    if not kustomize:
        return read(filenames, recursive=recursive)
    from longshore.cli.kustomize import kustomize_build

    if list(filenames):
        raise Said("error: only one of -f or -k can be specified", 2)
    return [Manifest(obj, kustomize) for obj in kustomize_build.build(Path(kustomize))]


def selected(manifests: list[Manifest], selector: str) -> list[Manifest]:
    """The objects with the labels of a selector; all of them without a selector."""
    from longshore.api.errors import StatusError
    from longshore.api.selectors import labels

    try:
        wanted = labels.parse(selector)
    except StatusError as err:
        raise Said(f"error: --selector: {err.message}", 2) from None
    return [each for each in manifests if wanted.matches(each.obj["metadata"].get("labels") or {})]


def add_kustomize(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kustomize", "-k", default="", metavar="DIR", help="the objects of this kustomization directory"
    )


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
    import http.client
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=_FETCH_SECONDS) as answer:
            content: bytes = answer.read(_MAX_FETCHED_BYTES + 1)
    except urllib.error.HTTPError as err:
        reason = f"server response code {err.code} {err.reason}"
        err.close()
        raise Said(f'error: unable to read URL "{url}", {reason}', 2) from None
    except (OSError, ValueError, http.client.HTTPException) as err:
        raise Said(f'error: unable to read URL "{url}": {getattr(err, "reason", err)}', 2) from None
    if len(content) > _MAX_FETCHED_BYTES:
        raise Said(f'error: unable to read URL "{url}": more than 64 MiB', 2)
    return content


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
