"""Runs manifests, or one command many times, to their end, and shows progress.

  longshore run job.yaml                                       every Job, pod and Volcano Job in it
  longshore run --completions 100 --parallelism 8 --retries 2 -- ./work.sh
  ls *.png | longshore run --each - -- convert {} {.}.jpg      once for each line, in {} and LONGSHORE_ITEM
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
from pathlib import Path

from longshore.cli.arguments.flags import switch

INTERMIXED = True
TAKES_A_COMMAND = True


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import resource_amounts, waiting_times
    from longshore.cli.server import connecting

    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="manifests, directories of manifests, or - for standard input",
    )
    add("--completions", type=_positive, metavar="N", help="number of times to run the command (default: 1)")
    add(
        "--parallelism",
        type=_positive,
        metavar="N",
        help="number of runs at the same time (default: one per processor)",
    )
    add(
        "--retries",
        type=_natural,
        default=0,
        metavar="N",
        help="retries of a failed run (default: 0)",
    )
    add(
        "--backoff",
        type=waiting_times.not_negative,
        metavar="T",
        help="pause before the first retry, twice that before the second, ... (default: 10s)",
    )
    add(
        "--delay",
        type=waiting_times.not_negative,
        default=0.0,
        metavar="T",
        help="time from one start to the next, at least",
    )
    add(
        "--limit-rate",
        type=waiting_times.interval,
        default=0.0,
        metavar="N/s",
        help="starts in a second (N/s), minute (N/m) or hour (N/h), at most",
    )
    add(
        "--each",
        action="append",
        default=[],
        metavar="FILE",
        help="run the command once per line of this file, - for standard input; twice: per pair of lines",
    )
    add("-0", "--null", action="store_true", help="items of --each end with a zero byte, as of find -print0")
    add("--each-csv", default="", metavar="FILE", help="once per row of a table, with {column}")
    switch(parser, "--shuffle", help="take the items in a random order")
    add(
        "--failed-to",
        type=Path,
        metavar="FILE",
        help="write the items that did not complete, one per line, for the next --each",
    )
    add(
        "--results",
        type=Path,
        metavar="DIR",
        help="write stdout, stderr, exit code and times of each item to files in DIR/NUMBER-ITEM",
    )
    add("--joblog", type=Path, metavar="FILE", help="write a line per try, as GNU parallel does")
    add(
        "--timeout-each",
        type=waiting_times.seconds,
        metavar="T",
        help="a try that takes longer has failed (whole seconds)",
    )
    add(
        "--fail-unstartable",
        type=waiting_times.not_negative,
        metavar="T",
        help="a pod that cannot be started for this long has failed (default: 5s, of manifests 30s)",
    )
    add("--no-fail-unstartable", action="store_true", help="wait for ever for pods that cannot be started")
    add("--run-as-me", action="store_true", help="ignore runAsUser and groups of manifests, as if not set")
    add(
        "--isolation",
        choices=("none", "process", "full"),
        help="walls around the processes: own process tree (process), also own /tmp and /dev (full) "
        "(default: process for a command; of manifests what longshore up says)",
    )
    switch(parser, "--fail-fast", help="stop everything when one run has failed")
    add(
        "--name",
        type=_name,
        default="",
        metavar="NAME",
        help="name of the Job (default: made from the command)",
    )
    add(
        "--env",
        action="append",
        default=[],
        metavar="K[=V]",
        help="set a variable; without a value, take the caller's",
    )
    switch(parser, "--env-all", help="pass all variables of this shell")
    add(
        "--cpu",
        type=resource_amounts.quantity,
        default="",
        metavar="Q",
        help="processors each run requests, e.g. 500m",
    )
    add(
        "--memory",
        type=resource_amounts.quantity,
        default="",
        metavar="Q",
        help="memory each run requests and may not exceed, e.g. 1Gi",
    )
    add("--timeout", type=waiting_times.seconds, metavar="T", help="stop after this time, with exit code 124")
    switch(
        parser,
        "--logs",
        help="print the output of the processes (default: of a command that runs once)",
        default=None,
    )
    switch(
        parser,
        "--keep-order",
        "-k",
        help="print the output of the items in their order, each when all before it are done; with --logs "
        "also the index before each line",
    )
    switch(parser, "--tag", help="--logs with the item and a tab before each line")
    add("--dry-run", action="store_true", help="print the manifest of the command and run nothing")
    add(
        "--output",
        "-o",
        default="",
        choices=("", "json"),
        metavar="json",
        help="json: print the result as JSON",
    )
    switch(parser, "--replace", help="delete an existing object of the same name first")
    switch(parser, "--rm", help="delete the Jobs at the end")
    switch(parser, "--throw-away", help="do not use a longshore that runs here")
    switch(
        parser,
        "--resume",
        help="go on where the last run of the same --name stopped: what is done is not run again",
    )
    add(
        "--runtime",
        default="",
        choices=("process", "podman", "auto"),
        help="--throw-away with this engine for pods of manifests without a runtimeClassName",
    )
    add(
        "--attach",
        default="",
        metavar="JOB",
        help="run nothing, but show a run that is under way to its end; Ctrl-C leaves it as it is",
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.main import Failure
    from longshore.up import startup

    if arguments.attach:
        return _attach(arguments)
    if bool(arguments.files) == bool(arguments.after_dashes):
        raise Failure("give either manifests or, after two dashes, a command: longshore run -- COMMAND", 2)
    if arguments.files:
        for flag in (
            "completions",
            "parallelism",
            "each",
            "each_csv",
            "null",
            "shuffle",
            "failed_to",
            "joblog",
            "timeout_each",
            "backoff",
            "delay",
            "limit_rate",
            "keep_order",
            "tag",
            "dry_run",
            "env_all",
            "name",
            "env",
            "cpu",
            "memory",
            "resume",
            "results",
            "retries",
            "fail_fast",
        ):
            if getattr(arguments, flag):
                raise Failure(f"--{flag.replace('_', '-')} is for a command, not for manifests", 2)
    if arguments.each and arguments.each_csv:
        raise Failure("--each and --each-csv exclude each other", 2)
    if (arguments.each or arguments.each_csv) and arguments.completions:
        raise Failure("--each and --completions exclude each other: each item is one completion", 2)
    if arguments.resume and (not arguments.name or arguments.replace):
        raise Failure("--resume needs the --name of the earlier run, and leaves it as it is: no --replace", 2)
    if arguments.failed_to and not (arguments.each or arguments.each_csv):
        raise Failure("--failed-to needs the items of --each", 2)
    if arguments.runtime:
        if arguments.after_dashes:
            raise Failure("--runtime is for manifests: a command runs as a process of this machine", 2)
        arguments.throw_away = True
    with startup.quick_imports():
        from longshore.cli.running import place, run
        from longshore.client.http import HttpClient  # noqa: F401 - used later; here it is imported quickly

        if place.running(arguments.kubeconfig, arguments.context) is None or arguments.throw_away:
            from longshore.up import running  # noqa: F401 - used later; here it is imported quickly
    from longshore.up.foreground import event_loop

    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(run.main(arguments))


def _attach(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.main import Failure
    from longshore.cli.running import attaching
    from longshore.up.foreground import event_loop

    if arguments.files or arguments.after_dashes:
        raise Failure("--attach follows a run that is there: give neither manifests nor a command", 2)
    for flag in ("joblog", "replace", "results", "resume", "rm", "throw_away"):
        if getattr(arguments, flag):
            raise Failure(f"--{flag.replace('_', '-')} is for a new run, not for --attach", 2)
    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(attaching.attach(arguments))


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _name(text: str) -> str:
    from longshore.api import names

    if text and not names.is_subdomain(text):
        raise ArgumentTypeError(
            f"{text!r} is not a name: write lower-case letters, digits and dashes, as in night-run-2"
        )
    return text


def _natural(text: str) -> int:
    if not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)
