"""Runs manifests, or one command many times, to their end, and shows how far they are.

  longshore run job.yaml                                       every Job, pod and Volcano Job in it
  longshore run --completions 100 --parallelism 8 --retries 2 -- ./work.sh
  ls *.png | longshore run --each - -- convert {} {.}.jpg      once for each line, in {} and LONGSHORE_ITEM
  find . -print0 | longshore run -0 --each - -- gzip {}

On the longshore that runs here, or if there is none on a throw-away one in this process. Of the
environment a command gets PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ, TMPDIR and VIRTUAL_ENV; more
with --env.

Ctrl-C stops the work and says what was left: on a longshore that stays, Jobs are suspended and can be
resumed.
Exit codes: 0 complete, 1 failed, 2 bad input, 124 timed out, 130 interrupted, 141 nobody reads the output.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from pathlib import Path

INTERMIXED = True
TAKES_A_COMMAND = True


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import durations
    from longshore.cli.server import connecting

    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="manifests, directories of them, or -")
    add("--completions", type=_positive, metavar="N", help="run the command so often (default: 1)")
    add("--parallelism", type=_positive, metavar="N", help="so many at once (default: one a processor)")
    add(
        "--retries",
        type=_natural,
        default=0,
        metavar="N",
        help="try a failed one so often again (default: 0)",
    )
    add(
        "--each",
        action="append",
        default=[],
        metavar="FILE",
        help="run the command once for each line of this file, or of -; given twice, for each pair of lines",
    )
    add("-0", "--null", action="store_true", help="items of --each end with a zero byte, as of find -print0")
    add("--each-csv", default="", metavar="FILE", help="once for each row of a table, with {column}")
    add("--shuffle", action=BooleanOptionalAction, default=False, help="take the items in a random order")
    add(
        "--failed-to",
        type=Path,
        metavar="FILE",
        help="write the items that did not complete, one a line, for the next --each",
    )
    add("--joblog", type=Path, metavar="FILE", help="write a line for each try, as GNU parallel does")
    add(
        "--timeout-each",
        type=durations.seconds,
        metavar="T",
        help="a try that takes longer has failed (whole seconds)",
    )
    add("--fail-fast", action=BooleanOptionalAction, default=False, help="stop all when one has failed")
    add("--name", default="", metavar="NAME", help="of the Job (default: after the command)")
    add(
        "--env",
        action="append",
        default=[],
        metavar="K[=V]",
        help="a variable; without a value, the one here",
    )
    add("--env-all", action=BooleanOptionalAction, default=False, help="all variables of this shell")
    add("--cpu", default="", metavar="Q", help="processors that each asks for, as 500m")
    add("--memory", default="", metavar="Q", help="memory that each asks for and may not exceed, as 1Gi")
    add("--timeout", type=durations.seconds, metavar="T", help="stop after this time, with exit code 124")
    add(
        "--logs",
        action=BooleanOptionalAction,
        default=None,
        help="print what the processes write (default: if the command runs once)",
    )
    add("--dry-run", action="store_true", help="print the manifest of the command, and run nothing")
    add("--output", "-o", default="", choices=("", "json"), help="json: the result for programs")
    add("--replace", action=BooleanOptionalAction, default=False, help="delete what is there by that name")
    add("--rm", action=BooleanOptionalAction, default=False, help="delete the Jobs when they have ended")
    add(
        "--throw-away",
        action=BooleanOptionalAction,
        default=False,
        help="never use a longshore that runs here",
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.main import Failure
    from longshore.up import startup

    if bool(arguments.files) == bool(arguments.after_dashes):
        raise Failure("give either manifests, or after two dashes a command: longshore run -- COMMAND", 2)
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
            "dry_run",
            "env_all",
            "name",
            "env",
            "cpu",
            "memory",
            "retries",
            "fail_fast",
        ):
            if getattr(arguments, flag):
                raise Failure(f"--{flag.replace('_', '-')} is for a command, not for manifests", 2)
    if arguments.each and arguments.each_csv:
        raise Failure("--each and --each-csv cannot be combined", 2)
    if (arguments.each or arguments.each_csv) and arguments.completions:
        raise Failure("--each and --completions contradict each other: there is one completion an item", 2)
    if arguments.failed_to and not (arguments.each or arguments.each_csv):
        raise Failure("--failed-to is for the items of --each", 2)
    with startup.quick_imports():
        from longshore.cli.running import place, run

        if place.running(arguments.kubeconfig, arguments.context) is None or arguments.throw_away:
            from longshore.up import running  # noqa: F401 - used later; here it is imported quickly
    from longshore.up.foreground import event_loop

    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(run.main(arguments))


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)
