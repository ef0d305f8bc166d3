"""The prose of the package: docstrings name their noun, and constants say what they hold.

Checked over the syntax trees of `src`. A room (a folder of the package) that still breaks a rule is named in
`UNFINISHED`; a room named there that breaks none fails as well, so the list says how far the work has come.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from inspect import cleandoc

import pytest
from handbook.reference import source

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("syntax trees"),  # parsed once, not once per worker
]
UNFINISHED: tuple[str, ...] = ()

_OPENING = re.compile(r"(As|It|Its|Same|The same|These|They|Those|What)\b")
"""Words that open a docstring without naming its noun."""

_NOT_NOUNS = re.compile(
    r"""_*(
        (\w+_)?(ALIKE|AT_ONCE|DEAREST|ENOUGH|FEW|FEWEST|HUGE|LEAST|LONG|LONGEST|MANY|MOST|MUCH|OFTEN|OURS|QUICK
        |SHORT|SHORTEST|SLOW|SMALL|SOON|USUAL|WHAT|WIDEST)
        |(DEAREST|FEWEST|LEAST|LONGEST|MOST|SHORTEST|WIDEST)_\w+
        |AFTER|BIG|EVERY|LARGE|PATIENCE|TURN|UNTIL|WAIT
    )""",
    re.VERBOSE,
)
"""Names of constants that are an adjective, an adverb or a superlative. The noun and its unit are missing."""

_UNITS = re.compile(
    r"\w*(_SECONDS?|_MINUTES?|_HOURS?|_DAYS?|_SHARE|_RATIO|_FACTOR|_PERCENT|_RATE|_JITTER|_FRACTION|_WEIGHT"
    r"|_PER_\w+|_SCORE|_BURST|_QPS|_CORES?|_FLOAT32)"
)
"""Endings that give the unit of a constant that is not a whole number."""


_SUBJECTLESS = re.compile(r"(?<!`)\b(nobody|somebody|whoever|whom?|told)\b(?!`)", re.IGNORECASE)
"""Words that stand where the thing itself should be named. A parameter of that name is in backquotes."""

_MAX_WORDS = 34
"""Words of the longest sentence in a docstring; tables, code and columns are no sentences."""
_NO_PROSE = re.compile(r"^(\||\$|longshore )|^ {2,}\S|\S {2,}\S", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.:;!?])\s+")

CEILINGS = {
    "cli": 2,
}
"""The most of those words that docstrings of a room may have; a room that is not named here has none. These
numbers only go down."""


def _strings(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Strings that are statements, and whether one documents a module, class, function, field or constant."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for before, statement in zip([None, *body], body, strict=False):
            documents = isinstance(before, ast.Assign | ast.AnnAssign) or (
                before is None
                and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            )
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                text = statement.value.value
                if isinstance(text, str):
                    yield statement.lineno, text, documents


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    return ((line, text) for line, text, documents in _strings(tree) if documents)


def _constants(tree: ast.Module) -> Iterator[tuple[int, str, ast.expr]]:
    """Constants of the module, by name and value; those assigned as a tuple too."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(value, ast.Tuple) and len(names) > 1 else [value] * len(names)
            for name, each in zip(names, values, strict=True):
                if isinstance(name, ast.Name) and name.id.isupper() and each is not None:
                    yield node.lineno, name.id, each


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", cleandoc(text)):
        if not _NO_PROSE.search(paragraph):
            for item in re.split(r"\n(?=- |\d+\. )", paragraph):
                yield from _SENTENCE_END.split(item)


def _is_float(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        return _is_float(value.left) or _is_float(value.right)
    return isinstance(value, ast.Constant) and isinstance(value.value, float)


def _subjectless(tree: ast.Module) -> list[str]:
    return [
        f"{line}: {found[0]}" for line, text in _docstrings(tree) for found in _SUBJECTLESS.finditer(text)
    ]


def _wrong(tree: ast.Module) -> Iterator[str]:
    if ast.get_docstring(tree) is None:
        yield "1: the module has no docstring"
    for line, _, documents in _strings(tree):
        if not documents:
            yield f"{line}: a docstring stands under nothing"
    for line, text in _docstrings(tree):
        if found := _OPENING.match(text):
            yield f"{line}: a docstring opens with {found[0]!r} and does not name its noun"
        if text.rstrip().endswith((",", ";")):
            yield f"{line}: a docstring goes on under the next attribute"
        for sentence in _sentences(text):
            if (many := len(sentence.split())) > _MAX_WORDS:
                yield f"{line}: a sentence of {many} words has to be read twice"
    for line, name, value in _constants(tree):
        if _NOT_NOUNS.fullmatch(name):
            yield f"{line}: the constant {name} is not a noun with its unit"
        elif _is_float(value) and not _UNITS.fullmatch(name):
            yield f"{line}: the constant {name} does not say its unit"


@lru_cache
def _all_wrong() -> dict[str, list[str]]:
    return {path: problems for path, tree in source.modules() if (problems := list(_wrong(tree)))}


def _in(room: str, path: str) -> bool:
    return path == room or path.startswith(room + "/")


def test_docstrings_name_their_noun_and_constants_their_unit() -> None:
    wrong = [
        f"{path}:{problem}"
        for path, problems in _all_wrong().items()
        if not any(_in(room, path) for room in UNFINISHED)
        for problem in problems
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_docstrings_name_the_thing_and_not_somebody() -> None:
    found: dict[str, list[str]] = {}
    for path, tree in source.modules():
        room = path.partition("/")[0] if "/" in path else "."
        found.setdefault(room, []).extend(f"{path}:{each}" for each in _subjectless(tree))
    over = {room: each for room, each in found.items() if len(each) > CEILINGS.get(room, 0)}
    assert not over, {room: (len(each), each) for room, each in over.items()}


def test_unfinished_rooms_are_really_unfinished() -> None:
    wrong = _all_wrong()
    finished = [room for room in UNFINISHED if not any(_in(room, path) for path in wrong)]
    assert not finished, f"finished, so take them off the list: {finished}"


def test_the_checker_sees_each_kind_of_fault() -> None:
    faulty = '''
_LONGEST = 3
_PAUSE = 0.5
_FIRST, _MOST = 1.0, 2
MAX_TRIES = 5
_PAUSE_SECONDS: float = 0.5
"""The pause."""
"""The turn."""

class Box:
    """The same as a crate."""

    size: int
    """What it holds."""

    lid: int
    """The lid,"""

    def open(self) -> None:
        """Opens it for whoever asks; `who` is told."""

    def close(self) -> None:
        """Closes it WORDS."""
'''.replace("WORDS", "and then " * 17)
    assert list(_wrong(ast.parse(faulty))) == [
        "1: the module has no docstring",
        "8: a docstring stands under nothing",
        "11: a docstring opens with 'The same' and does not name its noun",
        "14: a docstring opens with 'What' and does not name its noun",
        "17: a docstring goes on under the next attribute",
        "23: a sentence of 37 words has to be read twice",
        "2: the constant _LONGEST is not a noun with its unit",
        "3: the constant _PAUSE does not say its unit",
        "4: the constant _FIRST does not say its unit",
        "4: the constant _MOST is not a noun with its unit",
    ]
    assert _subjectless(ast.parse(faulty)) == ["20: whoever", "20: told"]
