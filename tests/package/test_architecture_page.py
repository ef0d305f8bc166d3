"""The architecture page is true: its layers are the checked ones, and all definitions in its tables exist."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import lru_cache
from pathlib import Path

import pytest

from support.places import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
PACKAGE = ROOT / "src" / "longshore"
WALK, _, QUESTIONS = PAGE.partition("\n## Where to look\n")
MAX_HOPS, MAX_QUESTIONS = 15, 60


def _rows(text: str) -> list[list[str]]:
    """The cells of every table row whose last two cells name a file and a definition."""
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in row] for row in cells]
    return [row for row in rows if row[-1].startswith("`")]


@lru_cache
def _defined(file: str) -> set[str]:
    """Names that a module defines: functions, classes, constants, and methods as `Class.method`."""
    names: set[str] = set()
    for node in ast.parse((PACKAGE / file).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.ClassDef):
            inner = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{each.name}" for each in inner}
    return names


@pytest.mark.parametrize("row", _rows(PAGE), ids=lambda row: row[-3])
def test_each_row_names_a_file_and_a_definition_in_it(row: list[str]) -> None:
    file, name = (re.fullmatch(r"`([^`]+)`", cell) for cell in row[-2:])
    assert file is not None, row
    assert name is not None, row
    assert (PACKAGE / file[1]).is_file(), f"{file[1]} does not exist"
    assert name[1] in _defined(file[1]), f"{file[1]} does not define {name[1]}; it has {_defined(file[1])}"


def test_the_walk_of_an_apply_has_at_most_fifteen_hops() -> None:
    assert [int(hop) for hop, *_ in _rows(WALK)] == list(range(1, len(_rows(WALK)) + 1))
    assert len(_rows(WALK)) <= MAX_HOPS


def test_no_question_is_asked_twice() -> None:
    questions = [question for question, *_ in _rows(QUESTIONS)]
    assert len(questions) == len(set(questions))
    assert all(question.endswith("?") for question in questions)
    assert len(questions) <= MAX_QUESTIONS


def test_the_layers_on_the_page_are_the_layers_that_are_checked() -> None:
    drawn = re.search(r"```\n(.*?)```", PAGE, re.S)
    assert drawn is not None
    page = [set(re.findall(r"\w+", re.split(r"\s{2,}", line)[0])) for line in drawn[1].splitlines()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (
        each["layers"]
        for each in contracts
        if each["name"] == "each layer imports only from the layers under it"
    )
    assert page == [
        {name.strip().removeprefix("longshore.") for name in layer.split("|")} for layer in layers
    ]


_FILE = re.compile(r"`([\w/-]+\.py)\b[^`]*`")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_documents_name_files_that_exist(page: Path) -> None:
    """A path is below the repository or the package; a bare name is that of some module."""
    modules = {path.name for folder in ("src", "tests", "examples") for path in (ROOT / folder).rglob("*.py")}
    missing = [
        name
        for name in _FILE.findall(page.read_text())
        if not any(base.joinpath(name).is_file() for base in (ROOT, *PACKAGE.rglob("*/"), PACKAGE))
        and ("/" in name or name not in modules)
    ]
    assert not missing
