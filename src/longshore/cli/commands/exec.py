"""Runs a command in a container of a pod, as kubectl exec does.

  longshore exec -it pod/x -- sh
  longshore exec job/pi -c main -- cat /tmp/state

The exit code is that of the command.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.cli.arguments import flags
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Failure
from longshore.cli.server import connecting

INTERMIXED = True
TAKES_A_COMMAND = True


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="POD | TYPE/NAME", help="the pod")
    flags.container(parser)
    switch(parser, "--stdin", "-i", help="pass on standard input")
    switch(parser, "--tty", "-t", help="allocate a terminal")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.arguments import pod_choice
    from longshore.cli.server import tunnel

    if len(arguments.words) != 1 or not arguments.after_dashes:
        raise Failure("name a pod and, after two dashes, a command: longshore exec POD -- COMMAND", 2)
    with connecting.opened(arguments) as server:
        pod = pod_choice.one(server, arguments.words[0])
        container = pod_choice.container(pod, arguments.container)
        query = [("container", container), *(("command", word) for word in arguments.after_dashes)]
        ends = tunnel.typed(stdin=arguments.stdin, tty=arguments.tty)
        return asyncio.run(tunnel.talk(server, tunnel.path(pod, "exec"), query, ends))
