"""`--failed-to FILE`: the items that did not complete, in the form in which they were read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from longshore.cli.main import Failure
from longshore.cli.running.each_items import Items

_CODING: Final = {"encoding": "utf-8", "errors": "surrogateescape"}


def check(path: Path) -> None:
    """Raises Failure where the file cannot be written, before the work begins. Leaves what it holds."""
    try:
        path.open("a").close()
    except OSError as err:
        raise Failure(_refused(path, err), 2) from None


def write(path: Path, items: Items, left: Iterable[int], *, null: bool) -> str:
    """Writes these rows for the next `--each` (with `-0` if this one had it) or `--each-csv`. Returns the
    problem; empty without one."""
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
        return _refused(path, err)
    return ""


def _refused(path: Path, err: OSError) -> str:
    return f"--failed-to {path}: {err.strerror}"
