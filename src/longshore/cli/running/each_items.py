"""Items of `--each` and `--each-csv`: reads and combines them, and writes the file that the node reads.

The file is in the data directory of the longshore. It has a line for each item or, if items have several
fields or contain line ends, records that end with a zero byte and whose fields a unit separator divides. A
throw-away longshore removes the file at its end; another one keeps it in `items/`, at least as long as there
is a Job that names it.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import os
import random
import secrets
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from longshore.api.facts import own_names
from longshore.api.facts.run_items import FIELD_END
from longshore.api.types import Obj
from longshore.cli.main import Failure

_CODING: Final = {"encoding": "utf-8", "errors": "surrogateescape"}

_YOUNG_SECONDS: Final = 86400.0
"""Seconds for which a file of items is left alone: its Job may not exist yet."""


class Items(NamedTuple):
    """The items of a command: a row of fields for each completion, nearly always of one field."""

    rows: list[tuple[str, ...]]
    columns: tuple[str, ...] = ()
    """Names of the fields, if a header gave them."""

    @property
    def names(self) -> list[str]:
        """Each row as people know it: its fields with blanks between them."""
        return [" ".join(row) for row in self.rows]

    @property
    def format(self) -> Literal["lines", "records"]:
        simple = all(len(row) == 1 and "\n" not in row[0] for row in self.rows)
        return "lines" if simple else "records"

    def content(self) -> bytes:
        """The content of the file that the node reads."""
        if self.format == "lines":
            return "".join(f"{row[0]}\n" for row in self.rows).encode(**_CODING)
        return "".join(f"{FIELD_END.join(row)}\0" for row in self.rows).encode(**_CODING)


def from_lines(names: Sequence[str], *, null: bool) -> Items:
    """The lines of these files, `-` for standard input; with `null`, the texts between zero bytes. Several
    files give every combination of their lines."""
    if names.count("-") > 1:
        raise Failure("--each -: standard input can be read only once; give the others as files", 2)
    return _checked(Items([*itertools.product(*(_lines(name, null=null) for name in names))]))


def from_csv(name: str) -> Items:
    """The rows of a table whose first row names the columns."""
    text = _read(name, "--each-csv").removeprefix(codecs.BOM_UTF8).decode(**_CODING)  # Excel begins with it
    header, *rows = [*csv.reader(io.StringIO(text, newline=""))] or [[]]
    for number, row in enumerate(rows, 2):
        if row and len(row) != len(header):
            raise Failure(
                f"--each-csv {name}: row {number} has {len(row)} fields, and the header has {len(header)}", 2
            )
    return _checked(Items([tuple(row) for row in rows if row], tuple(header)))


def load(path: str, format: str) -> Items | None:
    """Loads the items that a Job's pods name; None if the file is missing on this machine."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    end = b"\n" if format == "lines" else b"\0"
    parts = [part.decode(**_CODING) for part in content.removesuffix(end).split(end)]
    return Items([(part,) if format == "lines" else tuple(part.split(FIELD_END)) for part in parts])


def of_job(job: Obj) -> Items | None:
    """The items of a Job's pods; None if it has none, or they cannot be read."""
    path, format = file_of(job)
    return load(path, format) if path else None


def names_of(job: Obj) -> list[str]:
    """Each item of a Job as people know it; empty if it has none."""
    items = of_job(job)
    return items.names if items is not None else []


def file_of(job: Obj) -> tuple[str, str]:
    """The file with the items of a Job's pods, and its format; empty if they have none."""
    template = (job.get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return annotations.get(own_names.ITEMS_FILE, ""), annotations.get(own_names.ITEMS_FORMAT, "lines")


def shuffled(items: Items) -> Items:
    """The items in a random order."""
    return items._replace(rows=random.sample(items.rows, len(items.rows)))


def keep(items: Items, directory: Path | None) -> Path:
    """Writes the items to a file that only its owner can read."""
    if directory is None:
        raise Failure("--each needs a longshore on this machine, which finds the items in a file", 2)
    folder = directory / "items"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / secrets.token_hex(8)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(items.content())
    return path


def old_files(directory: Path, now: float) -> list[Path]:
    """Files of items that are so old that perhaps no Job names them any more."""
    folder = directory / "items"
    found = folder.iterdir() if folder.is_dir() else ()
    return [path for path in found if now - path.stat().st_mtime > _YOUNG_SECONDS]


def _lines(name: str, *, null: bool) -> list[str]:
    content = _read(name, "--each")
    if not null and b"\0" in content:
        raise Failure(f"--each {name}: it holds zero bytes, so it is not lines of text; see -0", 2)
    end = b"\0" if null else b"\n"
    parts = content.removesuffix(end).split(end) if content else []
    return [part.decode(**_CODING) for part in parts]


def _read(name: str, flag: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as err:
        raise Failure(f"{flag} {name}: {err.strerror}", 2) from None


def _checked(items: Items) -> Items:
    for row in items.rows:
        for field in row:
            if FIELD_END in field or "\0" in field:
                raise Failure(f"the item {field!r} holds a character that separates fields", 2)
    return items


# `--failed-to FILE`: the items that did not complete, in the form in which they were read.


def check_failed_file(path: Path) -> None:
    """Raises Failure if the file cannot be written, before the work begins. Does not change its content."""
    try:
        path.open("a").close()
    except OSError as err:
        raise Failure(_unwritable(path, err), 2) from None


def write_failed(path: Path, items: Items, left: Iterable[int], *, null: bool) -> str:
    """Writes these rows for the next `--each` (with `-0` if this run had it) or `--each-csv`. Returns the
    problem; empty if there is none."""
    if items.columns:
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows(
            [items.columns, *(items.rows[each] for each in left)]
        )
        text = table.getvalue()
    else:
        end = "\0" if null else "\n"
        text = "".join(" ".join(items.rows[each]) + end for each in left)
    try:
        path.write_bytes(text.encode(**_CODING))
    except OSError as err:
        return _unwritable(path, err)
    return ""


def _unwritable(path: Path, err: OSError) -> str:
    return f"--failed-to {path}: {err.strerror}"
