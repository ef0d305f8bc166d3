"""A hint for commands that fail for lack of a variable which is set in the caller's shell. Pure.

A command gets few variables of the caller (`shorthand.PASSED_VARIABLES`), which surprises whoever comes from
xargs. A name is hinted at only if a line of a failed try complains about it, and the caller has it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from typing import Final

_COMPLAINT: Final = re.compile(
    r"unbound variable|parameter (?:null or )?not set|not set\b|is unset|must be set|KeyError|undefined|"
    r"not defined|missing|required",
    re.IGNORECASE,
)
"""Words of bash, dash, Python, and what programs say of variables that they need."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_NO_COMMAND: Final = re.compile(r"([\w.+-]+): (?:command )?not found")
_MAX_NAMES: Final = 5


def hint(lines: Iterable[str], passed: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """How to pass what is missing; empty where nothing is known to be. `passed` are the variables that the
    command got, `environ` are the caller's."""
    names: dict[str, None] = {}
    for line in lines:
        if _COMPLAINT.search(line):
            found = (name for name in _NAME.findall(line) if name in environ and name not in passed)
            names |= dict.fromkeys(found)
        if (command := _NO_COMMAND.search(line)) and _only_here(command[1], passed, environ):
            names["PATH"] = None
    if not names:
        return ""
    some = [*names][:_MAX_NAMES]
    are, them = ("is", "it") if len(some) == 1 else ("are", "them")
    flags = " ".join(f"--env {name}" for name in some)
    what = f"{' and '.join(some)} {are} set here, but the command does not get {them}"
    return f"{what}: pass {them} with {flags}, or all variables with --env-all"


def _only_here(command: str, passed: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Whether the caller's PATH finds a command that the PATH of the command does not."""
    own, given = environ.get("PATH"), passed.get("PATH")
    return own != given and bool(own and shutil.which(command, path=own))
