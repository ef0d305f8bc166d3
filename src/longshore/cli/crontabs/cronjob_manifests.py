"""CronJobs made of command lines and of lines of a crontab, changed by flags, and written as a crontab.

A Job that is made of one by hand counts in the history, and the schedule's policies ignore it.
"""

from __future__ import annotations

import math
import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from longshore.api import cron, types
from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.cli.crontabs.crontab import CrontabEntry, fires
from longshore.cli.main import Failure
from longshore.cli.running import shorthand

_INPUT: Final = "LONGSHORE_INPUT"
"""The variable with the standard input of a crontab's line."""
_FEED: Final = f'printf %s "${_INPUT}" | "$0" -c "$1"'
"""Shell text that passes the standard input; the shell and the line's command follow it."""
_MANUAL: Final = "cronjob.kubernetes.io/instantiate"
_MAX_NAME: Final = 52
"""Characters of a CronJob's name, as Kubernetes has it."""


def checked_schedule(text: str, zone: str | None) -> None:
    """Refuses a schedule or a zone that the server would refuse, or that never fires."""
    try:
        if zone:
            cron.load(zone)
        schedule = cron.parse(text)
    except cron.UnknownZone as err:
        raise Failure(f"--zone: {err}", 2) from None
    except cron.ScheduleError as err:
        raise Failure(f"schedule {text!r}: {err}", 2) from None
    if not fires(schedule):
        raise Failure(f"schedule {text!r} never fires", 2)


def from_command(arguments: Namespace, command: Sequence[str], environ: Mapping[str, str]) -> Obj:
    """The CronJob of `longshore cron add`."""
    spec: Obj = {"schedule": arguments.schedule}
    if arguments.zone:
        spec["timeZone"] = arguments.zone
    template = _job_template(arguments, command, environ)
    spec["jobTemplate"] = {"spec": {"backoffLimit": arguments.retries or 0, "template": template}}
    made = cronjob(arguments.name or shorthand.name_of(command[0]), spec)
    merge(made, _settings(arguments))
    return made


def cronjob(name: str, spec: Obj) -> Obj:
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name[:_MAX_NAME]}, "spec": spec}


def _job_template(arguments: Namespace, command: Sequence[str], environ: Mapping[str, str]) -> Obj:
    wanted = shorthand.WantedRun(
        command, env=arguments.env, env_all=arguments.env_all, cpu=arguments.cpu, memory=arguments.memory
    )
    made: Obj = shorthand.job(wanted, environ, shorthand.directory())["spec"]["template"]
    return made


def merge(obj: Obj, patch: Obj) -> None:
    """Puts the fields of the patch into the object, below the fields that are there."""
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(obj.get(key), dict):
            merge(obj[key], value)
        else:
            obj[key] = value


def _settings(arguments: Namespace) -> Obj:
    """The fields that flags set without a command."""
    spec: Obj = {}
    job: Obj = {}
    if arguments.deadline is not None:
        spec["startingDeadlineSeconds"] = math.ceil(arguments.deadline)
    if arguments.overlap is not None:
        spec["concurrencyPolicy"] = "Allow" if arguments.overlap else "Forbid"
    if arguments.replace:
        spec["concurrencyPolicy"] = "Replace"
    if arguments.retries is not None:
        job["backoffLimit"] = arguments.retries
    if arguments.timeout is not None:
        job["activeDeadlineSeconds"] = max(1, math.ceil(arguments.timeout))
    if job:
        spec["jobTemplate"] = {"spec": job}
    return {"spec": spec} if spec else {}


def changes(arguments: Namespace, command: Sequence[str], environ: Mapping[str, str], before: Obj) -> Obj:
    """The strategic merge patch of `longshore cron edit`; empty if no flag asks for a change."""
    patch = _settings(arguments)
    spec: Obj = patch.get("spec", {})
    if arguments.schedule:
        spec["schedule"] = arguments.schedule
    if arguments.zone is not None:
        spec["timeZone"] = arguments.zone or None
    containers = before["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    container: Obj = {}
    if command:
        template = _job_template(arguments, command, environ)
        container = template["spec"]["containers"][0]
    elif arguments.env or arguments.cpu or arguments.memory:
        named = {entry.partition("=")[0] for entry in arguments.env}
        made = _job_template(arguments, ["true"], environ)["spec"]["containers"][0]
        entries = [entry for entry in made["env"] if entry["name"] in named]
        container = {"env": entries} if entries else {}
        container |= {key: value for key, value in made.items() if key == "resources"}
    if container:
        if len(containers) > 1:
            names = ", ".join(one["name"] for one in containers)
            raise Failure(f"it has several containers ({names}): change it with longshore edit cronjob/…", 2)
        container["name"] = containers[0]["name"]
        pod = {"template": {"spec": {"containers": [container]}}}
        merge(spec, {"jobTemplate": {"spec": pod}})
    return {"spec": spec} if spec else {}


def from_entry(entry: CrontabEntry) -> Obj:
    """The CronJob of a line of a crontab: its command in cron's environment, in the home directory."""
    env = dict(entry.env)
    if entry.input is None:
        command = [entry.shell, "-c", entry.command]
    else:
        command = [entry.shell, "-c", _FEED, entry.shell, entry.command]
        env[_INPUT] = entry.input
    template = shorthand.job(
        shorthand.WantedRun(command, env=[f"{k}={v}" for k, v in env.items()]), {}, env["HOME"]
    )
    template = template["spec"]["template"]
    spec: Obj = {"schedule": entry.schedule}
    if entry.zone:
        spec["timeZone"] = entry.zone
    spec["jobTemplate"] = {"spec": {"backoffLimit": 0, "template": template}}
    made = cronjob(entry.name, spec)
    if entry.spread_minutes:
        made["metadata"]["annotations"] = {own_names.JITTER: f"{entry.spread_minutes}m"}
    return made


class CannotExport(ValueError):
    """A crontab cannot hold this CronJob."""


class _Exported:
    """The parts of one CronJob that a crontab's line needs. Raises CannotExport if no crontab can hold it."""

    def __init__(self, obj: Obj) -> None:
        pod = obj["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        container = pod["containers"][0]
        if len(pod["containers"]) > 1 or pod.get("initContainers"):
            raise CannotExport("it has several containers")
        if container.get("image") != "host" or not container.get("command"):
            raise CannotExport(f"it runs image {container.get('image')}, not a command of this machine")
        self.schedule = obj["spec"]["schedule"]
        if self.schedule.startswith(("TZ=", "CRON_TZ=", "@every")):
            raise CannotExport(f"cron has no schedule {self.schedule}")
        if any("valueFrom" in entry for entry in container.get("env") or ()):
            raise CannotExport("a variable of it has its value from elsewhere")
        words = [_plain(text) for text in (*container["command"], *(container.get("args") or ()))]
        self.env = {entry["name"]: _plain(entry.get("value", "")) for entry in container.get("env") or ()}
        self.input = self.env.pop(_INPUT, None)
        if self.input is not None and words[1:3] == ["-c", _FEED]:
            words = [words[3], "-c", words[4]]
        self.shell = "/bin/sh"
        self.text = shlex.join(words)
        if len(words) == 3 and words[1] == "-c" and words[0].endswith("sh"):
            self.shell, _, self.text = words
        where = container.get("workingDir") or ""
        if where not in ("", self.env.pop("HOME", "")):
            self.text = f"cd {shlex.quote(where)} && {self.text}"
        for name in ("LOGNAME", "USER", "SHELL"):  # cron sets these
            self.env.pop(name, None)

    def line(self, common: Mapping[str, str]) -> str:
        """The line, in a crontab that sets the variables of `common`."""
        mine = [f"{name}={shlex.quote(value)}" for name, value in self.env.items() if name not in common]
        text = f"export {' '.join(mine)}; {self.text}" if mine else self.text
        if "\n" in text:
            raise CannotExport("its command has several lines")
        line = f"{self.schedule} {_with_percent(text)}"
        if self.input is None:
            return line
        return f"{line}%{_with_percent(self.input.removesuffix(chr(10))).replace(chr(10), '%')}"


def _plain(text: str) -> str:
    return text.replace("$$", "$")


def _with_percent(text: str) -> str:
    return text.replace("%", "\\%")


def exported(cronjobs: Iterable[Obj]) -> Iterator[str]:
    """The lines of a crontab with these CronJobs. What it cannot hold stands in comments."""
    told: list[tuple[Obj, _Exported | CannotExport]] = []
    for obj in cronjobs:
        try:
            told.append((obj, _Exported(obj)))
        except CannotExport as err:
            told.append((obj, err))
    common = _common([one.env for _, one in told if isinstance(one, _Exported)])
    for name, value in common.items():
        yield f'{name}="{value}"' if value != value.strip() or not value else f"{name}={value}"
    zone, shell = "", "/bin/sh"
    for obj, one in told:
        yield ""
        yield f"# {obj['metadata']['name']}"
        try:
            if isinstance(one, CannotExport):
                raise one
            line = one.line(common)
        except CannotExport as err:
            yield f"# is left out: {err}"
            continue
        if (mine := obj["spec"].get("timeZone") or "") != zone:
            zone = mine
            yield f"CRON_TZ={zone}"
        if one.shell != shell:
            shell = one.shell
            yield f"SHELL={shell}"
        if left := _left_out(obj):
            yield f"# a crontab cannot say: {', '.join(left)}"
        yield f"# paused: {line}" if obj["spec"].get("suspend") else line


def _common(envs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The variables that all have with the same value, on one line each."""
    first, *others = envs or [{}]
    return {
        name: value
        for name, value in first.items()
        if "\n" not in value and all(other.get(name) == value for other in others)
    }


def _left_out(obj: Obj) -> list[str]:
    """The settings of a CronJob for which a crontab has no words."""
    spec = obj["spec"]
    job = spec["jobTemplate"]["spec"]
    annotations = obj["metadata"].get("annotations") or {}
    found: list[tuple[str, Any]] = [
        ("startingDeadlineSeconds", spec.get("startingDeadlineSeconds")),
        ("backoffLimit", job.get("backoffLimit")),
        ("activeDeadlineSeconds", job.get("activeDeadlineSeconds")),
        (own_names.JITTER, annotations.get(own_names.JITTER)),
    ]
    policy = spec.get("concurrencyPolicy", "Allow")
    said = [f"concurrencyPolicy {policy}"] if policy != "Allow" else []
    return said + [f"{name} {value}" for name, value in found if value]


class CannotOverride(ValueError):
    """The overrides do not fit the CronJob's containers."""


def instantiated(
    cronjob: Obj,
    *,
    name: str = "",
    env: Sequence[tuple[str, str]] = (),
    args: Sequence[str] | None = None,
    container: str = "",
) -> Obj:
    """Makes a Job, as `kubectl create job --from` does. `env` goes to every container, or to the named one;
    `args` go to one container. Raises CannotOverride."""
    meta, template = cronjob["metadata"], cronjob["spec"]["jobTemplate"]
    wanted = template.get("metadata") or {}
    made: Obj = {"name": name} if name else {"generateName": f"{meta['name']}-run-"}
    made["namespace"] = meta["namespace"]
    if wanted.get("labels"):
        made["labels"] = wanted["labels"]
    made["annotations"] = {_MANUAL: "manual", **(wanted.get("annotations") or {})}
    # kubectl does not set blockOwnerDeletion here, so that fewer rights are needed.
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": meta["name"], "uid": meta["uid"]}
    made["ownerReferences"] = [{**owner, "controller": True}]
    spec: Obj = types.copy_of(template["spec"])
    _override(spec["template"]["spec"]["containers"], env, args, container)
    return {"metadata": made, "spec": spec}


def _override(
    containers: list[dict[str, Any]], env: Sequence[tuple[str, str]], args: Sequence[str] | None, named: str
) -> None:
    names = ", ".join(one["name"] for one in containers)
    chosen = [one for one in containers if not named or one["name"] == named]
    if not chosen:
        raise CannotOverride(f"there is no container {named!r}; there are: {names}")
    if args is not None and len(chosen) > 1:
        raise CannotOverride(f"--args is for one container; name it with --container: {names}")
    for one in chosen:
        if args is not None:
            one["args"] = [*args]
        for key, value in env:
            kept = [entry for entry in one.get("env") or () if entry["name"] != key]
            one["env"] = [*kept, {"name": key, "value": value}]
