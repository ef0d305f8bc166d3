"""The package's syntax trees, and what constants in them stand for."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import longshore

PACKAGE = Path(longshore.__file__).parent


class Module(NamedTuple):
    name: str
    """The path below the package, `controllers/job/spec.py`."""
    tree: ast.Module


class Constant(NamedTuple):
    name: str
    value: str
    about: str
    """The string under the assignment, else the comment at its end, else empty."""


@cache
def modules() -> tuple[Module, ...]:
    gc.disable()  # it looked through millions of nodes again and again, for 5 of 8 s of CPU
    try:
        found = sorted(PACKAGE.rglob("*.py"))
        return tuple(
            Module(path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())) for path in found
        )
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes(module: Module) -> tuple[ast.AST, ...]:
    """All nodes of its tree, in the order of `ast.walk`."""
    return tuple(ast.walk(module.tree))


@cache
def calls() -> tuple[tuple[Module, ast.Call], ...]:
    """Every call in the package."""
    return tuple(
        (module, node) for module in modules() for node in nodes(module) if isinstance(node, ast.Call)
    )


@cache
def constants(name: str) -> tuple[Constant, ...]:
    """Strings that a module, or a class in it, gives a name."""
    return tuple(_constants(next(module for module in modules() if module.name == name)))


def _constants(module: Module) -> Iterator[Constant]:
    lines = (PACKAGE / module.name).read_text().splitlines()
    bodies = [module.tree.body, *(node.body for node in module.tree.body if isinstance(node, ast.ClassDef))]
    for body in bodies:
        for node, after in zip(body, [*body[1:], None], strict=True):
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            text = literal(node.value)
            if text is not None and isinstance(target, ast.Name):
                about = literal(after.value) if isinstance(after, ast.Expr) else None
                comment = lines[(node.end_lineno or node.lineno) - 1].partition("  # ")[2]
                yield Constant(target.id, text, about or comment)


def literal(node: ast.AST | None) -> str | None:
    """The string that the expression is; None for any other."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def named(module: Module, node: ast.AST) -> str | None:
    """The string of a literal, or of a constant of the same module."""
    if isinstance(node, ast.Name):
        return next((each.value for each in constants(module.name) if each.name == node.id), None)
    return literal(node)
