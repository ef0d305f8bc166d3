"""Shows when a CronJob runs next, and runs it now.

  longshore cronjob next backup -n 5
  longshore cronjob run backup --env LEVEL=full --args --verbose /data

A run started by hand is a Job like any other: it counts in the history, and the schedule's policies ignore
it.
"""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server

_BATCH: Final = "/apis/batch/v1/namespaces"


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.commands.cron import count
    from longshore.cli.server import connecting

    verbs = parser.add_subparsers(dest="verb", metavar="next|run", required=True)
    upcoming = verbs.add_parser("next", help="print the next runs of a CronJob", allow_abbrev=False)
    upcoming.add_argument("name", metavar="NAME", help="the name of the CronJob")
    upcoming.add_argument(
        "-n", type=count, default=10, metavar="N", help="number of runs to show (default: 10)"
    )
    connecting.add_arguments(upcoming, short_namespace=False)
    now = verbs.add_parser("run", help="run a CronJob now, with overrides", allow_abbrev=False)
    now.add_argument("name", metavar="NAME", help="the name of the CronJob")
    now.add_argument("--job", default="", metavar="NAME", help="name of the Job (default: generated)")
    now.add_argument(
        "--env", type=_variable, action="append", default=[], metavar="K=V", help="set a variable; repeatable"
    )
    now.add_argument(
        "--container", "-c", default="", metavar="C", help="the container that --env and --args are for"
    )
    connecting.add_arguments(now)
    now.add_argument(
        "--args", nargs=REMAINDER, metavar="…", help="arguments of the container: everything that follows"
    )


def run(arguments: Namespace) -> int:
    from contextlib import closing

    from longshore.api.errors import StatusError
    from longshore.cli.main import Failure
    from longshore.cli.server import connecting
    from longshore.client.errors import Unreachable

    act = _next if arguments.verb == "next" else _run
    try:
        with closing(connecting.server(arguments)) as server:
            print(act(server, arguments))
    except (StatusError, Unreachable) as err:
        raise Failure(str(err)) from None
    return 0


def _run(server: Server, arguments: Namespace) -> str:
    from longshore.cli import instantiate
    from longshore.cli.main import Failure

    try:
        job = instantiate.job(
            _cronjob(server, arguments.name),
            name=arguments.job,
            env=arguments.env,
            args=arguments.args,
            container=arguments.container,
        )
    except instantiate.CannotOverride as err:
        raise Failure(str(err), 2) from None
    made = server.json("POST", f"{_BATCH}/{server.namespace}/jobs", body=job)
    return f"job.batch/{made['metadata']['name']} created"


def _next(server: Server, arguments: Namespace) -> str:
    import time

    return "\n".join(_told(_cronjob(server, arguments.name), time.time_ns(), arguments.n))


def _cronjob(server: Server, name: str) -> dict[str, Any]:
    from longshore.cli.main import Failure
    from longshore.cli.server.requests import escaped

    if not name:
        raise Failure("name a CronJob: longshore cronjob next NAME", 2)
    return server.json("GET", f"{_BATCH}/{server.namespace}/cronjobs/{escaped(name)}")


def _told(cronjob: dict[str, Any], now: int, count: int) -> list[str]:
    from longshore.api import cron
    from longshore.api.facts import own_names
    from longshore.cli.main import Failure
    from longshore.cli.showing import runs_table
    from longshore.controllers.cronjob import timing
    from longshore.controllers.scheduled import upcoming_runs
    from longshore.controllers.scheduled.view import View
    from longshore.up.local_zone import local_zone

    spec, local = cronjob["spec"], local_zone()
    try:
        if spec.get("timeZone") is not None:
            cron.load(spec["timeZone"])
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
        when = timing.of(View(cronjob, now, zone=local, steady_since=now), cronjob, schedule)
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
    return [*lines, "", runs_table.table(runs, zone, local)]


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value
