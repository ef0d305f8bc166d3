"""Runs manifests, or one command many times, to their end, and shows progress.

  longshore run job.yaml                                       every Job, pod and Volcano Job in it
  longshore run --completions 100 --parallelism 8 --retries 2 -- ./work.sh
  ls *.png | longshore run --each - -- convert {} {.}.jpg      once for each line, in {} and LONGSHORE_ITEM
  ls *.log | longshore run --each - -- gzip                    without {} the line is the last argument
  find . -print0 | longshore run -0 --each - -- gzip {}
  longshore run --name nightly --resume --each files -- ./work {}    what is not done yet

Uses the longshore that runs here; without one, starts a throw-away longshore in this process. A command gets
these variables of the environment: PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ, TMPDIR and VIRTUAL_ENV.
Add others with --env.

Ctrl-C stops the work and says what is left. On a longshore that keeps running, Jobs are suspended and can
be resumed. Exit codes: 0 complete, 1 failed, 2 bad input, 124 timed out, 130 interrupted, 141 nobody reads
the output.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from longshore.cli.arguments import flags, waiting_times
from longshore.cli.main import Failure
from longshore.cli.server import connecting

INTERMIXED = True
TAKES_A_COMMAND = True


_FLAGS = """
files* FILE            words              manifests, directories of manifests, or - for standard input
--completions N        positive           number of times to run the command (default: 1)
--parallelism N        positive           number of runs at the same time (default: one per processor)
--retries N            natural=0          retries of a failed run (default: 0)
--backoff T            pause              pause before the first retry, twice that before the second, ...
                                          (default: 10s)
--delay T              pause=0.0          shortest time from one start to the next
--limit-rate N/s       rate=0.0           starts in a second (N/s), minute (N/m) or hour (N/h), at most
--each FILE            list               run the command once per line of this file, - for standard input;
                                          twice: per pair of lines
-0, --null             on                 items of --each end with a zero byte, as of find -print0
--each-csv FILE        text               once per row of a table, with {column}
--raw-items            switch             let the shell of sh -c '...{}...' execute items as code
--shuffle              switch             take the items in a random order
--failed-to FILE       path               write the items that did not complete, one per line, for the next
                                          --each
--results DIR          path               write stdout, stderr, exit code and times of each item to files in
                                          DIR/NUMBER-ITEM
--joblog FILE          path               write a line per try, as GNU parallel does
--timeout-each T       seconds            fail a try that takes longer (whole seconds)
--fail-unstartable T   pause              fail a pod that cannot start for this long (default: 5s, for
                                          manifests 30s)
--no-fail-unstartable  on                 wait for ever for pods that cannot be started
--run-as-me            on                 ignore runAsUser and groups of manifests, as if not set
--isolation            none|process|full  walls around the processes: own process tree (process), also own
                                          /tmp and /dev (full) (default: process for a command; for
                                          manifests as longshore up says)
--fail-fast            switch             stop everything when one run has failed
--name NAME            name=              name of the Job (default: made from the command)
--env K[=V]            list               set a variable; without a value, take the caller's
--env-all              switch             pass all variables of this shell
--cpu Q                amount=            processors each run requests, e.g. 500m
--memory Q             amount=            memory each run requests and may not exceed, e.g. 1Gi
--timeout T            seconds            stop after this time, with exit code 124
--logs                 switch=unset       print the output of the processes (default: of a command that runs
                                          once)
--keep-order, -k       switch             print the output of the items in their order, each when all before
                                          it are done; with --logs also the index before each line
--tag                  switch             --logs with the item and a tab before each line
--dry-run              on                 print the manifest of the command and run nothing
--output, -o json      |json              json: print the result as JSON
--replace              switch             delete an existing object of the same name first
--rm                   switch             delete the Jobs at the end
--throw-away           switch             do not use a longshore that runs here
--resume               switch             continue the last run of the same --name; completed work is not run
                                          again
--runtime              process|podman|auto=  with --throw-away, the runtime for pods of manifests without a
                                          runtimeClassName
--attach JOB           text               run nothing; show a run that is under way to its end; Ctrl-C does
                                          not stop it
"""
_OF_COMMANDS = (
    "completions", "parallelism", "each", "each_csv", "null", "raw_items", "shuffle", "failed_to", "joblog",
    "timeout_each", "backoff", "delay", "limit_rate", "keep_order", "tag", "dry_run", "env_all", "name",
    "env", "cpu", "memory", "resume", "results", "retries", "fail_fast",
)  # fmt: skip
"""Flags that need a command, not manifests."""
_OF_ITEMS = ("failed_to", "null", "raw_items", "shuffle")
_OF_NEW_RUNS = ("joblog", "replace", "results", "resume", "rm", "throw_away")


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(
        parser,
        _FLAGS,
        pause=waiting_times.not_negative,
        rate=waiting_times.interval,
        positive=flags.whole("a whole number above 0", 1),
        natural=flags.whole("a whole number, 0 or more"),
        name=_name,
        amount=_quantity,
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.running import placeholders
    from longshore.up import startup

    if arguments.attach:
        return _attach(arguments)
    if bool(arguments.files) == bool(arguments.after_dashes):
        raise Failure("give either manifests or, after two dashes, a command: longshore run -- COMMAND", 2)
    if arguments.files:
        _refuse(arguments, _OF_COMMANDS, "is for a command, not for manifests")
    if arguments.each and arguments.each_csv:
        raise Failure("--each and --each-csv exclude each other", 2)
    if (arguments.each or arguments.each_csv) and arguments.completions:
        raise Failure("--each and --completions exclude each other: each item is one completion", 2)
    if arguments.resume and (not arguments.name or arguments.replace):
        raise Failure("--resume needs the --name of the earlier run, and leaves it as it is: no --replace", 2)
    if not (arguments.each or arguments.each_csv):
        _refuse(arguments, _OF_ITEMS, "needs the items of --each")
    if word := placeholders.foreign_source(arguments.after_dashes):
        raise Failure(
            f"{word} is not understood here: give the items one per line with --each FILE or --each -", 2
        )
    if arguments.runtime:
        if arguments.after_dashes:
            raise Failure("--runtime is for manifests: a command runs as a process of this machine", 2)
        arguments.throw_away = True
    with startup.quick_imports():
        from longshore.cli.running import place, run

        if place.running(arguments.kubeconfig, arguments.context) is None or arguments.throw_away:
            from longshore.up import running  # noqa: F401 - used later; here it is imported quickly
        else:
            from longshore.client.http import HttpClient  # noqa: F401 - used later, as the other
    from longshore.up.foreground import run_to_end

    return run_to_end(run.main(arguments))


def _refuse(arguments: Namespace, names: Sequence[str], why: str) -> None:
    """Ends the command if one of these flags was given."""
    for flag in names:
        if getattr(arguments, flag):
            raise Failure(f"--{flag.replace('_', '-')} {why}", 2)


def _attach(arguments: Namespace) -> int:
    from longshore.cli.running import attaching
    from longshore.up.foreground import run_to_end

    if arguments.files or arguments.after_dashes:
        raise Failure("--attach follows a run that is there: give neither manifests nor a command", 2)
    _refuse(arguments, _OF_NEW_RUNS, "is for a new run, not for --attach")
    return run_to_end(attaching.attach(arguments))


def _name(text: str) -> str:
    from longshore.api import names

    if text and not names.is_subdomain(text):
        raise ArgumentTypeError(
            f"{text!r} is not a name: write lower-case letters, digits and dashes, as in night-run-2"
        )
    return text


def _quantity(text: str) -> str:
    """Checks an amount, for argparse, and returns it as it was written; an empty amount requests nothing."""
    from longshore.api import quantity

    try:
        if text:
            quantity.parse(text)
    except quantity.QuantityError:
        raise ArgumentTypeError(f"{text!r} is not an amount: write 2, 500m, 512Mi or 1.5Gi") from None
    return text
