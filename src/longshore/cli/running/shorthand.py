"""A Job from a command line: `longshore run --completions 100 --parallelism 8 -- ./work.sh`.

Every index is retried `retries` times, and an index that fails for good does not stop the others (unless
`fail_fast`), as in GNU parallel. A command does not get the caller's whole environment: see
`PASSED_VARIABLES`.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from longshore.api.facts import own_names
from longshore.api.time import durations
from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.running import placeholders
from longshore.cli.running.each_items import Items
from longshore.cli.running.pod_templates import COMMAND_PATIENCE_SECONDS

PASSED_VARIABLES: Final = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV")
"""Variables of the environment that every command gets, besides all that begin with LC_."""


COMMAND_ISOLATION: Final = "process"
"""The isolation of a command: it has its own processes, and sees the caller's files."""


@dataclass(frozen=True, slots=True)
class WantedRun:
    command: Sequence[str]
    completions: int = 1
    parallelism: int | None = None
    """How many pods run at once; None for the number of processors."""
    retries: int = 0
    name: str = ""
    env: Sequence[str] = ()
    """`K=V`, or `K` for the caller's own value."""
    env_all: bool = False
    """Whether it gets the caller's whole environment, not only `PASSED_VARIABLES`."""
    items: Items | None = None
    """The items, one completion each."""
    raw_items: bool = False
    """Whether items in a shell's text become part of it, which the shell executes."""
    items_file: str = ""
    """The file in which the node finds the items."""
    cpu: str = ""
    memory: str = ""
    fail_fast: bool = False
    timeout_each: float | None = None
    """Seconds that one try of one completion may take."""
    backoff: float | None = None
    """Seconds before the first retry; None for the Job controller's own 10."""
    interval: float = 0.0
    """Seconds from one start to the next; 0 for no pause."""
    isolation: str = COMMAND_ISOLATION
    """The isolation of the command."""
    unstartable: float | None = COMMAND_PATIENCE_SECONDS
    """Seconds after which a pod that cannot start has failed; None for never."""


def job(wanted: WantedRun, environ: Mapping[str, str], directory: str) -> Obj:
    """Makes the manifest. `directory` is the command's working directory."""
    for word in (*wanted.command, directory):
        if not _is_text(word):
            raise Failure(f"{word!r} is not UTF-8 text: give such arguments with --each, one per line", 2)
    container: dict[str, Any] = {
        "name": "main",
        "image": "host",  # the process runtime uses the machine's own files
        "command": _words(wanted, directory),
        "workingDir": directory,
        "env": [
            {"name": name, "value": placeholders.escaped(value)}
            for name, value in variables(wanted, environ).items()
        ],
    }
    if wanted.cpu or wanted.memory:
        asked = {key: value for key, value in (("cpu", wanted.cpu), ("memory", wanted.memory)) if value}
        container["resources"] = {"requests": asked}
        if wanted.memory:
            container["resources"]["limits"] = {"memory": wanted.memory}
    annotations = {own_names.ISOLATION: wanted.isolation}
    if wanted.unstartable is not None:
        annotations[own_names.FAIL_UNSTARTABLE_AFTER] = durations.text(round(wanted.unstartable * 1e9))
    if wanted.items is not None:
        annotations[own_names.ITEMS_FILE] = wanted.items_file
        if wanted.items.format != "lines":
            annotations[own_names.ITEMS_FORMAT] = wanted.items.format
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
    if wanted.timeout_each is not None:
        pod["activeDeadlineSeconds"] = max(1, math.ceil(wanted.timeout_each))
    template = {"metadata": {"annotations": annotations}, "spec": pod}
    at_once = wanted.parallelism or min(wanted.completions, len(os.sched_getaffinity(0)))
    spec = {
        "completions": wanted.completions,
        "parallelism": at_once,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": wanted.retries,
        "template": template,
    }
    if wanted.fail_fast:
        spec["maxFailedIndexes"] = 0
    meta: Obj = {"name": wanted.name} if wanted.name else {"generateName": f"{name_of(wanted.command[0])}-"}
    if pace := _pace(wanted):
        meta["annotations"] = pace
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def directory() -> str:
    """The working directory of a command. Raises Failure if it is gone."""
    try:
        return os.getcwd()
    except OSError:
        raise Failure("the current directory is gone, and the command is to run in it", 2) from None


def _pace(wanted: WantedRun) -> dict[str, str]:
    """Annotations for the Job controller about its pace."""
    found = {own_names.START_INTERVAL: wanted.interval or None, own_names.RETRY_BACKOFF: wanted.backoff}
    return {name: durations.text(round(value * 1e9)) for name, value in found.items() if value is not None}


def _found(command: Sequence[str], directory: str) -> list[str]:
    first = command[0]
    if "/" in first and not os.path.isabs(first):
        first = os.path.join(directory, first)  # as a shell would find it
    return [first, *command[1:]]


def shown(wanted: WantedRun, index: int) -> str:
    """The command of one completion, as a person would type it."""
    words = wanted.command
    if wanted.items is not None:
        words = placeholders.ItemCommand(words, wanted.items, raw=wanted.raw_items).of_item(index)
    return shlex.join(words)


def _words(wanted: WantedRun, directory: str) -> list[str]:
    words = _found(wanted.command, directory)
    if wanted.items is None:
        return [*map(placeholders.escaped, words)]
    return placeholders.ItemCommand(words, wanted.items, raw=wanted.raw_items).in_manifest()


def variables(wanted: WantedRun, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the command, sorted by name; variables that are no text are left out unless named."""
    found = {
        name: value
        for name, value in environ.items()
        if (wanted.env_all or name in PASSED_VARIABLES or name.startswith("LC_")) and _is_text(name + value)
    }
    for given in wanted.env:
        name, equals, value = given.partition("=")
        if not equals and name not in environ:
            raise Failure(
                f"--env {name}: this variable is not set here; give it a value with {name}=VALUE", 2
            )
        found[name] = value if equals else environ[name]
        if not _is_text(name + found[name]):
            raise Failure(f"--env {name}: its value is not UTF-8 text", 2)
    return dict(sorted(found.items()))


def _is_text(text: str) -> bool:
    """Whether an object can hold the text: an argument may be any bytes, JSON may not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def name_of(command: str) -> str:
    """A valid Job name from a program's name."""
    base = os.path.basename(command).partition(".")[0].lower()
    return re.sub(r"[^a-z0-9-]+", "-", base).strip("-")[:40] or "run"


# A command gets few variables of the caller (PASSED_VARIABLES), unlike with xargs. The hint names a variable
# only if a line of a failed try complains about it, and the caller has it.

_COMPLAINT: Final = re.compile(
    r"unbound variable|parameter (?:null or )?not set|not set\b|is unset|must be set|KeyError|undefined|"
    r"not defined|missing|required",
    re.IGNORECASE,
)
"""Messages of bash, dash, Python and other programs about missing variables and commands."""
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_NO_COMMAND: Final = re.compile(r"([\w.+-]+): (?:command )?not found")
_MAX_NAMES: Final = 5


def missing(lines: Iterable[str], passed: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Says how to pass missing variables; empty if none is known to be missing. `passed` are the variables
    that the command got, `environ` are the caller's."""
    names: dict[str, None] = {}
    for line in lines:
        if _COMPLAINT.search(line):
            found = (name for name in _VARIABLE_NAME.findall(line) if name in environ and name not in passed)
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
    """Whether the caller's PATH has a command that the PATH of the command does not."""
    own, given = environ.get("PATH"), passed.get("PATH")
    return own != given and bool(own and shutil.which(command, path=own))
