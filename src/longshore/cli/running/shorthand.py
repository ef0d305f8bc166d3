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
from collections.abc import Mapping, Sequence
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
"""Variables of the environment that every command gets, together with all that begin with LC_."""


COMMAND_ISOLATION: Final = "process"
"""The walls around a command: processes of its own, and the caller's files."""


@dataclass(frozen=True, slots=True)
class Wanted:
    command: Sequence[str]
    completions: int = 1
    parallelism: int | None = None
    """None: as many at once as there are processors."""
    retries: int = 0
    name: str = ""
    env: Sequence[str] = ()
    """`K=V`, or `K` for the caller's own value."""
    env_all: bool = False
    """The caller's whole environment, not only `PASSED`."""
    items: Items | None = None
    """The items, one completion each."""
    items_file: str = ""
    """Where the node finds them."""
    cpu: str = ""
    memory: str = ""
    fail_fast: bool = False
    timeout_each: float | None = None
    """Seconds that one try of one completion may take."""
    backoff: float | None = None
    """Seconds before the first retry; None for the Job controller's own 10."""
    interval: float = 0.0
    """Seconds from one start to the next; 0 for none."""
    isolation: str = COMMAND_ISOLATION
    """The walls around it."""
    unstartable: float | None = COMMAND_PATIENCE_SECONDS
    """Seconds after which a pod that cannot start has failed; None for never."""


def job(wanted: Wanted, environ: Mapping[str, str], directory: str) -> Obj:
    """The manifest. `directory` is the command's working directory."""
    for word in (*wanted.command, directory):
        if not _is_text(word):
            raise Failure(f"{word!r} is not UTF-8 text: give such arguments with --each, one per line", 2)
    container: dict[str, Any] = {
        "name": "main",
        "image": "host",  # the process engine uses the machine's own files
        "command": [_word(word, wanted.items) for word in _found(wanted.command, directory)],
        "workingDir": directory,
        "env": [{"name": name, "value": _kept(value)} for name, value in variables(wanted, environ).items()],
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
    meta: Obj = {"name": wanted.name} if wanted.name else {"generateName": f"{_name(wanted.command[0])}-"}
    if pace := _pace(wanted):
        meta["annotations"] = pace
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def _pace(wanted: Wanted) -> dict[str, str]:
    """Annotations for the Job controller."""
    found = {own_names.START_INTERVAL: wanted.interval or None, own_names.RETRY_BACKOFF: wanted.backoff}
    return {name: durations.text(round(value * 1e9)) for name, value in found.items() if value is not None}


def _found(command: Sequence[str], directory: str) -> list[str]:
    first = command[0]
    if "/" in first and not os.path.isabs(first):
        first = os.path.join(directory, first)  # as a shell would find it
    return [first, *command[1:]]


def shown(wanted: Wanted, index: int) -> str:
    """The command of one completion, as one would type it."""
    words = wanted.command
    if wanted.items is not None:
        row, columns = wanted.items.rows[index], wanted.items.columns
        words = [placeholders.filled_in(word, row, index, columns) for word in words]
    return shlex.join(words)


def _word(word: str, items: Items | None) -> str:
    """An argument with `$` escaped: Kubernetes reads `$(NAME)` as a variable and `$$` as `$`."""
    word = _kept(word)
    if items is None:
        return word
    return placeholders.as_variables(word, len(items.rows[0]), items.columns)


def _kept(text: str) -> str:
    return text.replace("$", "$$")


def variables(wanted: Wanted, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the command, sorted by name; without those that are no text, unless they are named."""
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
    """Whether an object can hold it: an argument may be any bytes, JSON may not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(command: str) -> str:
    """A valid Job name from a program's name."""
    base = os.path.basename(command).partition(".")[0].lower()
    return re.sub(r"[^a-z0-9-]+", "-", base).strip("-")[:40] or "run"
