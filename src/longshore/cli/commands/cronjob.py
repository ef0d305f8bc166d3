"""Shows when a CronJob runs next, and runs it now.

  longshore cronjob next backup -n 5
  longshore cronjob run backup --env LEVEL=full --args --verbose /data

A run started by hand is a Job like any other: it counts in the history, and the schedule's policies ignore
it.
"""

from __future__ import annotations

import time
from argparse import REMAINDER, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from longshore.api import types
from longshore.api.facts import own_names
from longshore.cli.arguments import flags
from longshore.cli.commands.cron import count, runs_table
from longshore.cli.main import Failure
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

_BATCH: Final = "/apis/batch/v1/namespaces"


_NEXT_FLAGS: Final = """
name NAME  word      the name of the CronJob
-n N       count=10  number of runs to show (default: 10)
"""
_RUN_FLAGS: Final = """
name NAME          word           the name of the CronJob
--job NAME         text           name of the Job (default: generated)
--env K=V          list:variable  set a variable; repeatable
--container, -c C  text           the container that --env and --args are for
"""


def add_arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="next|run", required=True)
    upcoming = flags.verb(verbs, "next", "print the next runs of a CronJob")
    flags.table(upcoming, _NEXT_FLAGS, count=count)
    connecting.add_arguments(upcoming, short_namespace=False)
    now = flags.verb(verbs, "run", "run a CronJob now, with overrides")
    flags.table(now, _RUN_FLAGS, variable=_variable)
    connecting.add_arguments(now)
    now.add_argument(
        "--args", nargs=REMAINDER, metavar="…", help="arguments of the container: everything that follows"
    )


def run(arguments: Namespace) -> int:
    from longshore.api.errors import StatusError
    from longshore.client.errors import Unreachable

    act = _next if arguments.verb == "next" else _run
    try:
        with closing(connecting.server(arguments)) as server:
            print(act(server, arguments))
    except (StatusError, Unreachable) as err:
        raise Failure(str(err)) from None
    return 0


def _run(server: Server, arguments: Namespace) -> str:
    try:
        job = instantiated(
            _cronjob(server, arguments.name),
            name=arguments.job,
            env=arguments.env,
            args=arguments.args,
            container=arguments.container,
        )
    except CannotOverride as err:
        raise Failure(str(err), 2) from None
    made = server.json("POST", f"{_BATCH}/{server.namespace}/jobs", body=job)
    return f"job.batch/{made['metadata']['name']} created"


def _next(server: Server, arguments: Namespace) -> str:
    return "\n".join(_told(_cronjob(server, arguments.name), time.time_ns(), arguments.n))


def _cronjob(server: Server, name: str) -> dict[str, Any]:
    from longshore.cli.server.requests import escaped

    if not name:
        raise Failure("name a CronJob: longshore cronjob next NAME", 2)
    return server.json("GET", f"{_BATCH}/{server.namespace}/cronjobs/{escaped(name)}")


def _told(cronjob: dict[str, Any], now: int, count: int) -> list[str]:
    from longshore.api import cron
    from longshore.controllers.cronjob import timing
    from longshore.controllers.scheduled import upcoming_runs
    from longshore.controllers.scheduled.view import ScheduledView
    from longshore.up.local_zone import local_zone

    spec, local = cronjob["spec"], local_zone()
    try:
        if spec.get("timeZone") is not None:
            cron.load(spec["timeZone"])
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
        when = timing.of(ScheduledView(cronjob, now, zone=local, steady_since=now), cronjob, schedule)
        due, _ = when.due()
    except (cron.UnknownZone, cron.ScheduleError, cron.NeverFires) as err:
        raise Failure(f"the schedule never fires: {err}") from None
    zone = when.shown_in
    lines = [f"cronjob {cronjob['metadata']['name']}: {spec['schedule']}"]
    if schedule.zone is None:
        lines.append(f"no timeZone is set: that of the controller counts, here taken for {local.name}")
    if spec.get("suspend"):
        lines.append("suspended: nothing starts before it is resumed, and then at most the last run missed")
    if when.delay:
        lines.append(
            f"each run starts {when.delay / upcoming_runs.SECOND:.1f} s after its time ({own_names.JITTER})"
        )
    if when.bad_jitter:
        lines.append(when.bad_jitter)
    runs = upcoming_runs.runs(schedule, zone, when.next, max(when.now, when.base), count)
    if due is not None and due != timing.last_schedule(cronjob):
        runs = [upcoming_runs.Run(due, "due now"), *runs][:count]
    return [*lines, "", runs_table(runs, zone, local)]


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


# A Job made by hand from a CronJob, as `kubectl create job --from` makes it, with overrides.

MANUAL: Final = "cronjob.kubernetes.io/instantiate"


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
    """Makes the Job. `env` goes to every container, or to the named one; `args` go to one container. Raises
    CannotOverride."""
    meta, template = cronjob["metadata"], cronjob["spec"]["jobTemplate"]
    wanted = template.get("metadata") or {}
    made: Obj = {"name": name} if name else {"generateName": f"{meta['name']}-run-"}
    made["namespace"] = meta["namespace"]
    if wanted.get("labels"):
        made["labels"] = wanted["labels"]
    made["annotations"] = {MANUAL: "manual", **(wanted.get("annotations") or {})}
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
