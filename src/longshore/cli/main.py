"""The entry point: finds the command, imports it alone, runs it, and turns known errors into one line.

Start-up time is the reason for argparse and for late imports: `longshore version` must answer within 150
ms. Exit codes: 0 success, 1 failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

GROUPS = (
    (
        "Run it",
        (
            ("up", "start longshore here; prints where its kubeconfig is"),
            ("status", "show what runs here: server, node, Jobs, pods"),
            ("down", "stop the longshore that runs here"),
            ("env", "print the line that points kubectl at this longshore"),
            ("kubeconfig", "add this longshore to your ~/.kube/config, or remove it"),
            ("images", "say what an image means here: its command, its tools"),
            ("service", "start longshore with the machine, by systemd"),
            ("backup", "write a backup of the data directory, while it is in use"),
            ("restore", "put a backup into the data directory"),
            ("doctor", "check what this machine can do, and how to mend the rest"),
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
            ("diff", "show what apply would change"),
            ("edit", "change an object in your editor"),
            ("get", "show objects: jobs, pods, cronjobs, queues, ..."),
            ("describe", "show objects in detail, with their events"),
            ("explain", "explain a kind and its fields"),
            ("api-resources", "list the kinds there are"),
            ("logs", "print the logs of pods"),
            ("exec", "run a command in a container"),
            ("attach", "show the output of a running container, and give it input"),
            ("cp", "copy files to and from pods"),
            ("port-forward", "make ports of a pod reachable here"),
            ("top", "show what nodes and pods use: processors, memory"),
            ("wait", "wait for a Job to be done, or any condition"),
            ("events", "show events"),
            ("suspend", "stop the pods of a Job, or a CronJob's schedule"),
            ("resume", "resume suspended Jobs and CronJobs"),
            ("retry", "run again what a Job did not complete"),
            ("history", "list runs, also throw-away ones that have ended"),
            ("report", "report on the last day: failed, skipped, late, slow"),
            ("delete", "delete objects and wait until they are gone"),
            ("cron", "run a command on schedule; list, edit, pause, import"),
            ("auth", "say who you are to the server, and what you may do"),
            ("sim", "play manifests on a virtual clock: when would this finish?"),
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
            ("vc-sub", "submit a Volcano Job (vsub)"),
            ("vc-jobs", "list Volcano Jobs, or show one (vjobs)"),
            ("vc-queues", "list queues, or show one (vqueues)"),
            ("vc-cancel", "delete a Volcano Job (vcancel)"),
            ("vc-suspend", "suspend a Volcano Job (vsuspend)"),
            ("vc-resume", "resume a Volcano Job (vresume)"),
        ),
    ),
    (
        "Know it",
        (
            ("ui", "open the dashboard in your browser"),
            ("why", "explain what longshore did with a Job, CronJob or pod"),
            ("man", "show the manual page of a command, or write all of them"),
            ("completion", "print a script that completes commands in your shell"),
            ("version", "print the version"),
        ),
    ),
)
"""Every command with its one line of help, as `longshore --help` shows them."""

_HABITS = {
    "create": "apply",
    "cronjob": "cron",
    "crontab": "cron",
    "list": "get",
    "ls": "get",
    "ps": "get pods",
    "restart": "retry",
    "rm": "delete",
    "start": "up",
    "stop": "down",
    **{kind: f"get {kind}" for kind in ("cronjobs", "jobs", "namespaces", "nodes", "pods", "queues")},
}
"""Words of other programs, and kinds, that people type instead of a command."""

_FRONT_FLAGS = {
    "--kubeconfig": "--kubeconfig",
    "--context": "--context",
    "--namespace": "--namespace",
    "-n": "--namespace",
}
"""Flags that may come before the command, with their long form."""

_HELP = """\
longshore is the batch half of Kubernetes in one Python process.

usage: longshore COMMAND [options]

{commands}

Examples
  longshore up                        keeps its data in ~/.local/share/longshore
  longshore up --in-memory --port 0   a throw-away one, on any free port
  kubectl --kubeconfig ~/.local/share/longshore/kubeconfig get jobs

longshore help COMMAND says more about a command.
--kubeconfig, --context and -n may also come before COMMAND.
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
    _open_closed_streams()
    _write_utf_8()
    if sys.stdout.isatty() or sys.stderr.isatty():
        from longshore.cli.printing import guarded_streams

        guarded_streams.guard()
    code = _run_words(list(sys.argv[1:] if arguments is None else arguments))
    try:
        sys.stdout.flush()
    except OSError as err:  # Python would find it after the exit code is known
        failed = _unwritten(err)
        return code or failed
    return code


def _run_words(words: list[str]) -> int:
    """Runs the words and returns the exit code; errors that people can repair are printed in one line."""
    try:
        return _run(words)
    except Failure as failure:
        _tell(f"{failure.speaker}{failure}\n")
        return failure.code
    except KeyboardInterrupt:
        return 130
    except OSError as err:
        return _unwritten(err)


def _unwritten(err: OSError) -> int:
    """Returns the exit code for an error of the machine: a full disk, a missing directory, a closed pipe."""
    try:
        sys.stdout.flush()
    except OSError:
        drop(sys.stdout)
    if isinstance(err, BrokenPipeError):  # its reader has seen enough: longshore get pods | head
        return 141
    _tell(f"longshore: {err.strerror or err}{f': {err.filename}' if err.filename else ''}\n")
    return 1


def _run(words: list[str]) -> int:
    front, words = front_flags(words)
    if front and not words:
        raise Failure("a command is missing after these flags\nsee: longshore --help", 2)
    if len(words) > 1 and words[0] == "help":
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0
    name, rest = words[0], words[1:]
    if name in ("-V", "--version"):
        name = "version"
    if name in _FRONT_FLAGS:
        raise Failure(f"argument {name}: expected one argument\nsee: longshore --help", 2)
    if name not in names():
        meant = f"; did you mean {_HABITS[name]!r}?" if name in _HABITS else did_you_mean(name, names())
        raise Failure(f"there is no command {name!r}{meant}\nsee: longshore --help", 2)
    from longshore.cli.arguments import parsers

    return parsers.run(name, rest, front)


def front_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits off flags that name a server or namespace before the command, as kubectl takes them. `-n` is
    spelled out: some commands mean something else by it."""
    flags, rest = [], list(words)
    while rest and (flag := rest[0].partition("=")[0]) in _FRONT_FLAGS:
        if "=" not in rest[0]:
            if len(rest) == 1:
                break
            rest[:2] = [f"{flag}={rest[1]}"]
        flags.append(f"{_FRONT_FLAGS[flag]}={rest.pop(0).partition('=')[2]}")
    return flags, rest


def names() -> list[str]:
    """The names of all commands."""
    return [command for _, commands in GROUPS for command, _ in commands]


def _tell(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)  # nothing reads it; the exit code still tells


def drop(stream: TextIO) -> None:
    """Discards everything that the stream writes from now on, also what is buffered: Python would complain
    about it at the end of the program."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_closed_streams() -> None:
    """Opens the null device for each standard stream that the caller closed (`>&-`): else a socket could get
    its number, and be taken for it."""
    import os

    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, fd)
            if null != fd:
                os.close(null)
            setattr(sys, name, os.fdopen(fd, mode, closefd=False))


def _write_utf_8() -> None:
    """Makes the output UTF-8 whatever the locale says, as kubectl's is; arguments that are no text are
    written as their bytes."""
    import io

    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def help_text() -> str:
    lines = []
    for title, commands in GROUPS:
        lines.append(title)
        lines += [f"  {name:<15}{summary}" for name, summary in commands]
        lines.append("")
    return _HELP.format(commands="\n".join(lines).rstrip())


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean '…'?` with the nearest known word; empty if none is near."""
    from difflib import get_close_matches

    bare = {each.lstrip("-"): each for each in known}
    asked = word.lstrip("-")
    begun = [name for name in bare if asked and name.startswith(asked)]
    close = begun if len(begun) == 1 else get_close_matches(asked, bare, n=1)
    return f"; did you mean {bare[close[0]]!r}?" if close else ""
