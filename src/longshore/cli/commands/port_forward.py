"""Makes ports of a pod reachable on this machine, as kubectl port-forward does, until Ctrl-C.

longshore port-forward pod/web 8080:80      port 8080 here is port 80 of the pod
longshore port-forward job/server :http     any free port here, the port named http of the pod
longshore port-forward service/web 8443:https
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.cli.arguments import flags
from longshore.cli.main import Said
from longshore.cli.server import connecting

INTERMIXED = True


_FLAGS = """
words* TYPE/NAME [LOCAL:]REMOTE…  words  the pod and its ports
--address A  list  addresses to listen on, separated by commas (default: localhost)
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, _FLAGS)
    flags.pod_running_timeout(parser)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.arguments import pod_choice
    from longshore.cli.server import forwarding

    if len(arguments.words) < 2:
        raise Said("error: TYPE/NAME and list of ports are required for port-forward", 2)
    word, *ports = arguments.words
    with connecting.opened(arguments) as server:
        service = forwarding.service(server, word)
        pod = pod_choice.one(server, word, arguments.pod_running_timeout)
        phase = (pod.get("status") or {}).get("phase", "Unknown")
        if phase != "Running":
            raise Said(f"error: unable to forward port because pod is not running. Current status={phase}")
        pairs = [forwarding.pair(text, pod, service) for text in ports]
        addresses = [each for given in arguments.address for each in given.split(",") if each]
        return asyncio.run(forwarding.forward(server, pod, pairs, addresses or ["localhost"]))
