"""Work on schedule without YAML: each line is a CronJob of the longshore that runs here.

  longshore cron add '30 2 * * *' --zone Europe/Berlin --no-overlap --retries 2 -- ./report --all
  longshore cron list                           schedule in words, last and next run, the last twenty
  longshore cron edit report --schedule '0 4 * * *'
  longshore cron run report --env LEVEL=full    now, with overrides
  longshore cron logs report                    output of the latest run; --failed: of the latest that failed
  crontab -l | longshore cron import -          takes over a crontab, and shows what it made of each line
  longshore cron next '30 2 * * *' -n 5         when a schedule fires; needs no server

The command of a line gets the directory and the same few variables as one of longshore run; lines of a
crontab keep cron's own. Schedules, zones and clock changes are Kubernetes'.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import REMAINDER, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from longshore.api.time import rfc3339
from longshore.cli.arguments import flags, waiting_times
from longshore.cli.main import Failure
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

TAKES_A_COMMAND = True
_BATCH: Final = "/apis/batch/v1"
_MERGE: Final = "application/strategic-merge-patch+json"

_SETTINGS: Final = """
--zone Z        text=unset    IANA time zone (default: the one of the machine)
--deadline T    not_negative  skip a run that could not start within this time
--overlap       switch=unset  whether a run starts while the one before runs (default: it does)
--replace       on            a run stops the one before, if that still runs
--retries N     natural       retries of a failed run (default: 0)
--timeout T     not_negative  fail a run that takes longer, retries included
--env K[=V]     list          set a variable; without a value, take the caller's
--env-all       switch        pass all variables of this shell
--cpu Q         text          processors a run requests, e.g. 500m
--memory Q      text          memory a run requests and may not exceed, e.g. 1Gi
"""
_ADD: Final = f"""
schedule SCHEDULE  word  five fields, or a name such as @daily
--name NAME        text  name of the CronJob (default: that of the program)
{_SETTINGS.strip()}
--dry-run          on    print the manifest and create nothing
"""
_EDIT: Final = f"""
name NAME     word  the CronJob; without flags and a command it is opened in your editor
--schedule S  text  five fields, or a name such as @daily
{_SETTINGS.strip()}
"""
_NEXT: Final = """
what? SCHEDULE|NAME  words       five fields, a name such as @daily, or a CronJob
--zone Z             text=unset  IANA time zone (default: this machine's; UTC with --jsonl)
--after T            after       start after this RFC 3339 time (default: now)
-n N                 count=10    number of runs to show (default: 10)
--jsonl FILE         text=unset  read rows from this file, - for standard input: each an object with schedule,
                                 tz (or null) and after; printed again with next, the next times in UTC, null
                                 where there is none within five years, or with error
"""
_RUN: Final = """
name NAME          word           the name of the CronJob
--job NAME         text           name of the Job (default: generated)
--env K=V          list:variable  set a variable; repeatable
--container, -c C  text           the container that --env and --args are for
"""
_LIST: Final = """
--all-namespaces, -A  switch  in all namespaces
--output, -o json     |json   json: output for programs, with every run
"""
_IMPORT: Final = """
file FILE       word  a crontab of one user, - for standard input
--dry-run       on    show what would be made of each line and create nothing
--skip-refused  on    create the others when some lines are refused
"""
_LOGS: Final = """
name NAME     word    the name of the CronJob
--failed      switch  of the latest run that failed
--all         switch  of all runs, the oldest first
--follow, -f  switch  follow the output
--tail N      int     the last N lines
"""
_HISTORY: Final = """
name NAME                  word        the name of the CronJob
--last N                   int=30      at most N (default: 30)
--since T                  seconds     only runs that ran within the last 5m, 24h
--output, -o json|wide     |json|wide  json, or wide: with the commands
"""
_EXPORT: Final = "names* NAME  words  CronJobs (default: all of the namespace)"
_NAMES: Final = "names+ NAME  words  CronJobs"


def _count(text: str) -> int:
    return flags.whole("a whole number from 1 to 10000", 1, 10_000)(text)


def _after(text: str) -> int:
    try:
        return rfc3339.parse(text)
    except ValueError as err:
        raise ArgumentTypeError(
            f"{text!r} is not an RFC 3339 time such as 2026-03-29T00:00:00Z: {err}"
        ) from None


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "after": _after,
    "count": _count,
    "natural": flags.whole("a whole number, 0 or more"),
    "not_negative": waiting_times.not_negative,
    "variable": _variable,
}


def add_arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (help, table, _) in _VERBS.items():
        verb = flags.verb(verbs, name, help)
        flags.table(verb, table, **_READERS)
        connecting.add_arguments(verb, short_namespace=name != "next")
        if name == "run":
            verb.add_argument(
                "--args",
                nargs=REMAINDER,
                metavar="…",
                help="arguments of the container: everything that follows",
            )


def run(arguments: Namespace) -> int:
    if arguments.after_dashes and arguments.verb not in ("add", "edit"):
        raise Failure(f"longshore cron {arguments.verb} takes no command", 2)
    code: int = _VERBS[arguments.verb][2](arguments)
    return code


# ---- without a CronJob


def _next(arguments: Namespace) -> int:
    from longshore.api import cron
    from longshore.cli.crontabs import upcoming

    if (arguments.what is None) == (arguments.jsonl is None):
        raise Failure(
            "give a SCHEDULE, the NAME of a CronJob, or --jsonl\nsee: longshore cron next --help", 2
        )
    zone = None
    if arguments.zone is not None:
        try:
            zone = cron.load(arguments.zone)
        except cron.UnknownZone as err:
            raise Failure(f"--zone: {err}", 2) from None
    if arguments.jsonl is not None:
        return upcoming.of_rows(arguments.jsonl, zone or cron.UTC, arguments.n)
    if not _is_name(arguments.what):
        return upcoming.of_schedule(arguments.what, zone, arguments.after, arguments.n)
    if zone is not None or arguments.after is not None:
        raise Failure("--zone and --after are for a schedule: a CronJob has its own, and its runs come", 2)
    with connecting.opened(arguments) as server:
        print(upcoming.of_cronjob(_cronjob(server, arguments.what), time.time_ns(), arguments.n))
    return 0


def _is_name(text: str) -> bool:
    """Whether a word is the name of a CronJob: no schedule of five fields is a single word."""
    from longshore.api import names

    return bool(names.is_subdomain(text))


# ---- one CronJob


def _add(arguments: Namespace) -> int:
    from longshore.cli.crontabs import cronjob_manifests
    from longshore.cli.printing import objects

    if not arguments.after_dashes:
        raise Failure("a command is missing after two dashes: longshore cron add '@daily' -- COMMAND", 2)
    if arguments.overlap and arguments.replace:
        raise Failure("--overlap and --replace exclude each other", 2)
    cronjob_manifests.checked_schedule(arguments.schedule, arguments.zone)
    obj = cronjob_manifests.from_command(arguments, arguments.after_dashes, os.environ)
    if arguments.dry_run:
        sys.stdout.write(objects.as_yaml(obj))
        return 0
    with connecting.opened(arguments) as server:
        server.json("POST", _path(server), body=obj)
        print(f"cronjob.batch/{obj['metadata']['name']} created: {_words(obj)}")
    return 0


def _edit(arguments: Namespace) -> int:
    from longshore.cli.arguments import parsers
    from longshore.cli.crontabs import cronjob_manifests

    if arguments.overlap and arguments.replace:
        raise Failure("--overlap and --replace exclude each other", 2)
    if arguments.schedule:
        cronjob_manifests.checked_schedule(arguments.schedule, arguments.zone)
    with connecting.opened(arguments) as server:
        before = _cronjob(server, arguments.name)
        patch = cronjob_manifests.changes(arguments, arguments.after_dashes, os.environ, before)
        if patch:
            path = _path(server, arguments.name)
            after = server.json("PATCH", path, body=patch, content_type=_MERGE)
            print(f"cronjob.batch/{arguments.name} changed: {_words(after)}")
            return 0
    return parsers.run("edit", [f"cronjob/{arguments.name}"], _where(arguments))


def _run(arguments: Namespace) -> int:
    from longshore.cli.crontabs import cronjob_manifests

    with connecting.opened(arguments) as server:
        try:
            job = cronjob_manifests.instantiated(
                _cronjob(server, arguments.name),
                name=arguments.job,
                env=arguments.env,
                args=arguments.args,
                container=arguments.container,
            )
        except cronjob_manifests.CannotOverride as err:
            raise Failure(str(err), 2) from None
        created = server.json("POST", f"{_BATCH}/namespaces/{server.namespace}/jobs", body=job)
    print(f"job.batch/{created['metadata']['name']} created")
    return 0


def _by_command(command: str, *more: str) -> Callable[[Namespace], int]:
    """A verb that is another command for CronJobs of these names."""

    def run(arguments: Namespace) -> int:
        from longshore.cli.arguments import parsers

        named = [f"cronjob/{name}" for name in arguments.names]
        return parsers.run(command, [*more, *named], _where(arguments))

    return run


def _logs(arguments: Namespace) -> int:
    from longshore.cli.arguments import parsers

    given = [f"--{flag}" for flag in ("failed", "all", "follow") if getattr(arguments, flag)]
    given += [f"--tail={arguments.tail}"] * (arguments.tail is not None)
    return parsers.run("logs", [f"cronjob/{arguments.name}", *given], _where(arguments))


def _history(arguments: Namespace) -> int:
    from longshore.cli.arguments import parsers

    given = [f"--cronjob={arguments.name}", f"--last={arguments.last}"]
    given += [f"--since={arguments.since}"] * (arguments.since is not None)
    given += [f"--output={arguments.output}"] * bool(arguments.output)
    return parsers.run("history", given, _where(arguments))


def _where(arguments: Namespace) -> list[str]:
    """The flags that name the server, for another command."""
    named = (
        ("kubeconfig", arguments.kubeconfig),
        ("context", arguments.context),
        ("namespace", arguments.namespace),
    )
    return [f"--{flag}={value}" for flag, value in named if value]


def _path(server: Server, name: str = "") -> str:
    from longshore.cli.server.requests import escaped

    path = f"{_BATCH}/namespaces/{server.namespace}/cronjobs"
    return f"{path}/{escaped(name)}" if name else path


def _cronjob(server: Server, name: str) -> Obj:
    if not name:
        raise Failure("name a CronJob, as longshore cron list does", 2)
    return server.json("GET", _path(server, name))


def _words(obj: Obj) -> str:
    from longshore.api import cron
    from longshore.cli.crontabs.listing import in_words

    zone = obj["spec"].get("timeZone")
    return in_words(cron.parse(obj["spec"]["schedule"]), cron.load(zone) if zone else None)


# ---- all CronJobs


def _list(arguments: Namespace) -> int:
    from longshore.cli.commands import history
    from longshore.cli.crontabs import listing
    from longshore.cli.printing import objects
    from longshore.up.local_zone import local_zone

    everywhere = arguments.all_namespaces
    with connecting.opened(arguments) as server:
        where = _BATCH if everywhere else f"{_BATCH}/namespaces/{server.namespace}"
        cronjobs = server.json("GET", f"{where}/cronjobs")["items"]
        runs = history.known(server, everywhere=everywhere)
    found = listing.lines(cronjobs, runs, time.time_ns(), local_zone())
    if arguments.output:
        sys.stdout.write(objects.as_json({"items": [line.document() for line in found]}))
        return 0
    if not found:
        print("there are no CronJobs; make one with: longshore cron add '@daily' -- COMMAND", file=sys.stderr)
        return 0
    sys.stdout.write(listing.table(found, with_namespace=everywhere))
    if any(line.runs for line in found):
        print(f"\n{listing.LEGEND}")
    return 0


def _import(arguments: Namespace) -> int:
    from longshore.cli.crontabs import cronjob_manifests, crontab
    from longshore.cli.printing.columns import Columns
    from longshore.cli.server import apply_request

    found = crontab.read(_lines_of(arguments.file), os.path.expanduser("~"))
    objs = [cronjob_manifests.from_entry(entry) for entry in found.entries]
    rows = [["LINE", "NAME", "SCHEDULE", "COMMAND"]]
    rows += [
        [str(entry.number), entry.name, _words(obj), entry.command]
        for entry, obj in zip(found.entries, objs, strict=True)
    ]
    if objs:
        sys.stdout.write(Columns().lines(rows))
        sys.stdout.flush()  # before what follows on standard error
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    for refused in found.refused:
        print(f"line {refused.number} is refused: {refused.why}: {refused.text}", file=sys.stderr)
    if found.refused and not arguments.skip_refused:
        raise Failure("nothing was created; mend these lines, or leave them out with --skip-refused", 2)
    if arguments.dry_run or not objs:
        return 0
    with connecting.opened(arguments) as server:
        for obj in objs:
            path = _path(server, obj["metadata"]["name"])
            before = apply_request.live(server, path)
            after = apply_request.write(server, path, obj)
            same = before is not None and before["metadata"]["generation"] == after["metadata"]["generation"]
            word = "created" if before is None else "unchanged" if same else "configured"
            print(f"cronjob.batch/{obj['metadata']['name']} {word}")
    return 0


def _lines_of(name: str) -> Sequence[str]:
    try:
        with sys.stdin if name == "-" else open(name, encoding="utf-8") as lines:
            return lines.readlines()
    except (OSError, UnicodeDecodeError) as err:
        raise Failure(f"{name}: {err}", 2) from None


def _export(arguments: Namespace) -> int:
    from longshore.cli.crontabs import cronjob_manifests

    with connecting.opened(arguments) as server:
        if arguments.names:
            cronjobs = [_cronjob(server, name) for name in arguments.names]
        else:
            cronjobs = server.json("GET", _path(server))["items"]
    print("# the CronJobs of longshore, as a crontab; times are those of its machine where no zone is set")
    for line in cronjob_manifests.exported(cronjobs):
        print(line)
    return 0


_VERBS: Final[dict[str, tuple[str, str, Callable[[Namespace], int]]]] = {
    "add": ("run a command on schedule", _ADD, _add),
    "list": ("list CronJobs with their last and next runs", _LIST, _list),
    "next": ("print when a schedule fires, or a CronJob runs next", _NEXT, _next),
    "edit": ("change a CronJob, by flags or in your editor", _EDIT, _edit),
    "run": ("run a CronJob now, with overrides", _RUN, _run),
    "logs": ("print what a run wrote", _LOGS, _logs),
    "history": ("list the runs of a CronJob", _HISTORY, _history),
    "pause": ("start nothing until it is resumed", _NAMES, _by_command("suspend")),
    "resume": ("let the schedule go on", _NAMES, _by_command("resume")),
    "remove": ("delete CronJobs and their Jobs", _NAMES, _by_command("delete")),
    "import": ("make CronJobs of the lines of a crontab", _IMPORT, _import),
    "export": ("print CronJobs as a crontab", _EXPORT, _export),
}
