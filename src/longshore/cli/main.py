"""The entry point: finds the command, imports it alone, runs it, and turns known errors into one line.

Start-up time is the reason for argparse and for late imports: `longshore version` must answer within 150
ms. Exit codes: 0 success, 1 failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from argparse import ArgumentParser

GROUPS = (
    (
        "Run it",
        (
            ("up", "start longshore here; prints where its kubeconfig is"),
            ("status", "show what runs here: server, node, Jobs, pods"),
            ("down", "stop the longshore that runs here"),
            ("controllers", "run the controllers against any Kubernetes"),
            ("scheduler", "run the gang scheduler against any Kubernetes"),
            ("manifests", "print the objects that run these two in a cluster"),
        ),
    ),
    (
        "Use it",
        (
            ("run", "run manifests, or a command many times, to their end"),
            ("apply", "create or update objects from files"),
            ("get", "show objects: jobs, pods, cronjobs, queues, ..."),
            ("describe", "show objects in detail, with their events"),
            ("logs", "print the logs of pods"),
            ("exec", "run a command in a container"),
            ("wait", "wait for a Job to be done, or any condition"),
            ("events", "show events"),
            ("suspend", "stop the pods of a Job, or a CronJob's schedule"),
            ("resume", "resume suspended Jobs and CronJobs"),
            ("delete", "delete objects and wait until they are gone"),
            ("cronjob", "show when a CronJob runs next, or run it now"),
            ("cron", "print when a schedule fires; needs no server"),
        ),
    ),
    (
        "Volcano",
        (
            ("job", "run, list, view, suspend, resume, delete Volcano Jobs"),
            ("queue", "create, list, open, close, weigh and delete queues"),
            ("jobflow", "create, list, describe and delete JobFlows"),
            ("jobtemplate", "create, list, describe and delete JobTemplates"),
            ("pod", "list the pods of Volcano Jobs and queues"),
        ),
    ),
    (
        "Know it",
        (
            ("why", "explain what longshore did with a Job, CronJob or pod"),
            ("version", "print the version"),
        ),
    ),
)
"""Every command with its one line of help, as `longshore --help` shows them."""

_HELP = """\
longshore is the batch half of Kubernetes in one Python process.

usage: longshore COMMAND [options]

{commands}

Examples
  longshore up                        keeps its data in ~/.local/share/longshore
  longshore up --in-memory --port 0   a throw-away one, on any free port
  kubectl --kubeconfig ~/.local/share/longshore/kubeconfig get jobs

longshore COMMAND --help says more about a command.
"""


class Failure(Exception):
    """Ends the command with this message on standard error, without a traceback."""

    speaker = "longshore: "

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Said(Failure):
    """A Failure without the `longshore:` prefix, for messages in kubectl's words."""

    speaker = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0
    name, rest = words[0], words[1:]
    if name in ("-V", "--version"):
        name = "version"
    if name not in {command for _, commands in GROUPS for command, _ in commands}:
        return _complain(f"there is no command {name!r}{_suggestion(name)}", "longshore --help", 2)
    try:
        return _run(name, rest)
    except Failure as failure:
        sys.stderr.write(f"{failure.speaker}{failure}\n")
        return failure.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough: longshore get pods | head
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def help_text() -> str:
    lines = []
    for title, commands in GROUPS:
        lines.append(title)
        lines += [f"  {name:<13}{summary}" for name, summary in commands]
        lines.append("")
    return _HELP.format(commands="\n".join(lines).rstrip())


def _run(name: str, rest: Sequence[str]) -> int:
    import argparse
    from importlib import import_module

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise Failure(f"{message}\nsee: {self.prog} --help", 2)

    command = import_module(f"longshore.cli.commands.{name}")
    parser = Parser(
        prog=f"longshore {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    words, after = list(rest), list[str]()
    if getattr(command, "TAKES_A_COMMAND", False) and "--" in words:
        at = words.index("--")
        words, after = words[:at], words[at + 1 :]
    try:
        # Words and flags may come in any order, as kubectl has it, unless there are verbs below the command.
        parse = parser.parse_intermixed_args if getattr(command, "INTERMIXED", False) else parser.parse_args
        parsed = parse(_spelled(words, parser))
    except SystemExit as leave:  # --help
        return int(leave.code or 0)
    parsed.after_dashes = after
    code: int = command.run(parsed)
    return code


def _spelled(words: Sequence[str], parser: ArgumentParser) -> list[str]:
    """The arguments in argparse's spelling: Go's `--wait=false` becomes `--no-wait`, and a flag with an
    optional value takes it after `=` only.
    """
    out = []
    for word in words:
        action = parser._option_string_actions.get(word)
        if action is not None and action.nargs == "?" and word.startswith("--"):
            word = f"{word}={action.const}"
        flag, _, value = word.partition("=")
        if value in ("true", "false") and f"--no-{flag[2:]}" in parser._option_string_actions:
            word = flag if value == "true" else f"--no-{flag[2:]}"
        out.append(word)
    return out


def _complain(message: str, see: str, code: int) -> int:
    sys.stderr.write(f"longshore: {message}\n")
    if see:
        sys.stderr.write(f"see: {see}\n")
    return code


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    names = [command for _, commands in GROUPS for command, _ in commands]
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
