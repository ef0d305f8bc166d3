"""Shows the output of a container that runs, from now on, as kubectl attach does; -i sends it input.

  longshore attach pod/x
  longshore attach job/shell -it

The process keeps running when you leave. `longshore logs -f` shows earlier output, too.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Failure, Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj

INTERMIXED = True
_RECORDED = (
    "All commands and output from this session will be recorded in container logs, including credentials and "
    "sensitive information passed through the command prompt."
)


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="POD | TYPE/NAME", help="the pod")
    flags.container(parser)
    switch(parser, "--stdin", "-i", help="pass on standard input")
    switch(parser, "--tty", "-t", help="standard input is a terminal")
    switch(parser, "--quiet", "-q", help="print the output alone")
    flags.pod_running_timeout(parser)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.arguments import pod_choice
    from longshore.cli.server import tunnel

    if len(arguments.words) != 1:
        raise Failure("name a pod: longshore attach POD", 2)
    with connecting.opened(arguments) as server:
        pod = pod_choice.one(server, arguments.words[0], arguments.pod_running_timeout)
        _check(pod)
        container = pod_choice.container(pod, arguments.container)
        tty = arguments.tty and _has_terminal(pod, container)
        if arguments.stdin and arguments.tty and not arguments.quiet:
            print(_RECORDED, file=sys.stderr)
            print("If you don't see a command prompt, try pressing enter.", file=sys.stderr)
        ends = tunnel.typed(stdin=arguments.stdin, tty=tty)
        return asyncio.run(tunnel.talk(server, tunnel.path(pod, "attach"), [("container", container)], ends))


def _check(pod: Obj) -> None:
    phase = (pod.get("status") or {}).get("phase", "")
    if phase in ("Succeeded", "Failed"):
        raise Said(f"error: cannot attach a container in a completed pod; current phase is {phase}")


def _has_terminal(pod: Obj, name: str) -> bool:
    spec = pod["spec"]
    known = [
        *(spec.get("initContainers") or ()),
        *spec["containers"],
        *(spec.get("ephemeralContainers") or ()),
    ]
    if any(each["name"] == name and each.get("tty") for each in known):
        return True
    print(f"error: Unable to use a TTY - container {name} did not allocate one", file=sys.stderr)
    return False
