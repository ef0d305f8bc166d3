"""Every exit code that a command returns by itself, found where the code names it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from handbook.reference import source
from handbook.reference.markdown import cell, page, table

MEANINGS = {
    0: "It succeeded. `run` and `wait --for=done`: the work is complete",
    1: "It failed: the server refused, an object is missing, or the work that was waited for failed",
    2: "Wrong words or flags, or a file that cannot be read. Nothing was started or written",
    124: "The time of `--timeout` was up",
    130: "Ctrl-C, SIGTERM or SIGHUP ended it",
    141: "Nobody reads the output any more, as in `longshore get pods | head`",
}


_COMMANDS = {"running": "run"}
"""Folders of the command line that are one command's."""


def found() -> dict[int, set[str]]:
    """Exit codes, each with the modules of the command line that name it."""
    codes: dict[int, set[str]] = {0: {"cli/main.py"}, 1: {"cli/main.py"}}
    for module in source.modules():
        if module.name.startswith("cli/"):
            for number in _codes(module.tree):
                codes.setdefault(number, set()).add(module.name)
    return dict(sorted(codes.items()))


def text() -> str:
    rows = [
        [str(number), cell(MEANINGS.get(number, "")), _commands(modules) if number > 2 else "every command"]
        for number, modules in found().items()
    ]
    return page(
        "Exit codes",
        "`exec` ends with the exit code of the command that it ran.",
        table(("code", "meaning", "returned by"), rows),
    )


def _commands(modules: set[str]) -> str:
    """The commands that these modules are for; a module for all of them says so."""
    names = {
        _COMMANDS.get(module.split("/")[1], module.rpartition("/")[2].removesuffix(".py"))
        for module in modules
    }
    return "every command" if "main" in names else ", ".join(f"`{name}`" for name in sorted(names))


def _codes(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Failure", "Said", "_complain"):
            yield from _whole_numbers(node.args[1:])
            yield from _whole_numbers([each.value for each in node.keywords if each.arg == "code"])
        elif isinstance(node, ast.Assign | ast.AnnAssign) and _is_about_exits(node):
            yield from _whole_numbers(ast.walk(node.value) if node.value else ())
        elif isinstance(node, ast.FunctionDef) and node.name in ("main", "run"):
            returns = (each.value for each in ast.walk(node) if isinstance(each, ast.Return))
            yield from _whole_numbers(value for value in returns if value is not None)


def _is_about_exits(node: ast.Assign | ast.AnnAssign) -> bool:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return isinstance(target, ast.Name) and ("EXIT" in target.id or target.id in ("CODES", "TIMED_OUT"))


def _whole_numbers(nodes: object) -> Iterator[int]:
    for node in nodes:  # type: ignore[attr-defined]
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node.value
