"""Starts longshore in the foreground: the API server on the loopback interface, with TLS, and controllers.

The ready line names the address and the kubeconfig. Ctrl-C stops longshore; the next start finds its data
in the data directory. Pods run as processes of this machine and keep running when longshore stops: the
next start finds them again, with the exit codes of those that ended meanwhile. --on-stop kill stops them.
"""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from longshore.api.facts import own_names
from longshore.cli.arguments import controller_flags, flags
from longshore.cli.main import Failure
from longshore.cli.server import data_dir

_SERVER_FLAGS = """
--port N                  port={port}        port to listen on, 0 for any free one (default: {port})
--listen ADDRESS          list:address       an address of this machine to listen on besides 127.0.0.1, for
                                             use from other machines; may be repeated (see the page on
                                             security first)
--tls-name NAME           list:tls_name      a further name or address of this machine for the certificate;
                                             may be repeated
--in-memory               on                 keep nothing on disk; without --data-dir the kubeconfig is
                                             removed at the end, too
--scripted FILE           path               with --in-memory, for tests: pods run as this file says, and
                                             /testing/ moves a virtual clock
--durability normal|full  durability=normal  an acknowledged write survives kill -9 (normal), or power loss,
                                             too (full)
--controllers LIST|none   controllers        controllers to run, separated by commas (default: {controllers})
--no-node                 on                 run no pods here
--node-name NAME          node_name          the node's name, kept in the data directory; a node of an earlier
                                             name is deleted with its pods (default: the kept name, at first
                                             the machine's)
--no-scheduler            on                 do not schedule pods here
"""
_NODE_FLAGS = f"""
--runtime      process|podman|auto=process  runtime for pods without a runtimeClassName (default: process);
                     auto: process for images that longshore images lists, podman for others where it is
                     installed
--images FILE  file  what images mean to the process runtime (default: images.yaml in the data directory; see
                     longshore images)
--isolation    none|process|full=full  walls around pods that do not choose them (annotation
                     {own_names.ISOLATION}): none; process, own processes; full, also own /tmp, /dev and fewer
                     system calls (default: full, or what the system allows of it)
--node-capacity cpu=N,memory=M,…  capacity  the node's capacity, where it differs from the machine's
--on-stop      keep|kill  whether pods keep running when longshore stops (default: keep; kill with
                     --in-memory)
"""


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.up.options import DEFAULT_PORT

    data_dir.add_arguments(parser, "where to keep data")
    flags.table(
        parser,
        _SERVER_FLAGS.format(port=DEFAULT_PORT, controllers=",".join(_known())),
        port=flags.port,
        address=_address,
        tls_name=_tls_name,
        path=Path,
        durability=_durability,
        controllers=controllers,
        node_name=_node_name,
    )
    controller_flags.add_scheduling(parser)
    flags.table(parser, _NODE_FLAGS, file=flags.file, capacity=_capacity)
    parser.set_defaults(node_capacity={})
    controller_flags.add_work_limits(parser)
    controller_flags.add_retention(parser)
    controller_flags.add_logging(parser)


def run(arguments: Namespace) -> int:
    from longshore.node.images.image_table import BadImages
    from longshore.store import StoreError
    from longshore.up import foreground
    from longshore.up.files import UnfitDirectory
    from longshore.up.listening import CannotListen
    from longshore.up.options import Options
    from longshore.up.own_certificates import BrokenPki

    if arguments.scripted is not None:
        return _scripted(arguments)
    everywhere = [address for address in arguments.listen if address in ("0.0.0.0", "::")]
    if everywhere and not arguments.tls_name:
        raise Failure(
            f"--listen {everywhere[0]} needs --tls-name NAME, a name or address that others reach this "
            "machine by: the certificate must have it"
        )
    options = Options(
        data_dir=arguments.data_dir,
        port=arguments.port,
        listen=tuple(dict.fromkeys(arguments.listen)),
        tls_names=tuple(dict.fromkeys(arguments.tls_name)),
        in_memory=arguments.in_memory,
        durability=arguments.durability,
        controllers=arguments.controllers,
        scheduler=not arguments.no_scheduler,
        scheduler_actions=arguments.scheduler_actions,
        scheduler_conf=controller_flags.conf_of(arguments),
        node=not arguments.no_node,
        node_name=arguments.node_name or "",
        isolation=arguments.isolation,
        runtime=arguments.runtime,
        images=arguments.images,
        node_capacity=arguments.node_capacity,
        limits=controller_flags.work_limits_of(arguments),
        retention=arguments.keep,
        logging=controller_flags.logging_of(arguments),
        on_stop=arguments.on_stop or ("kill" if arguments.in_memory else "keep"),
    )
    try:
        foreground.run(options)
    except (StoreError, UnfitDirectory, BadImages, BrokenPki, CannotListen) as err:
        raise Failure(str(err)) from None
    return 0


def _scripted(arguments: Namespace) -> int:
    from longshore.testing import language_door
    from longshore.up.listening import CannotListen

    if not arguments.in_memory:
        raise Failure("--scripted needs --in-memory: what a script does is not worth keeping")
    if arguments.data_dir or arguments.listen or arguments.controllers is not None or arguments.no_node:
        raise Failure("--scripted goes with --in-memory and --port alone; the file says the rest")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        language_door.run(arguments.scripted, arguments.port, stopped)
    except (ValueError, OSError, CannotListen) as err:
        raise Failure(str(err)) from None
    return 0


def _address(text: str) -> str:
    import ipaddress

    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is not an IP address of this machine, such as 192.168.1.5, or 0.0.0.0 for all"
        ) from None


def _tls_name(text: str) -> str:
    from longshore.api import names

    try:
        return _address(text)
    except ArgumentTypeError:
        if names.dns1123_subdomain(text.lower()):
            raise ArgumentTypeError(f"{text!r} is neither a host name nor an IP address") from None
    return text.lower()


def _node_name(text: str) -> str:
    from longshore.api import names

    if wrong := names.dns1123_subdomain(text):
        raise ArgumentTypeError(f"{text!r} is no name for a node: {wrong[0]}")
    return text


def _capacity(text: str) -> dict[str, str]:
    from longshore.node import capacity

    try:
        return capacity.parse(text)
    except capacity.BadCapacity as err:
        raise ArgumentTypeError(str(err)) from None


def _durability(text: str) -> str:
    if text not in ("normal", "full"):
        raise ArgumentTypeError(f"{text!r} is neither normal nor full")
    return text


def controllers(text: str) -> tuple[str, ...]:
    """Names of controllers from one argument."""
    return () if text == "none" else controller_flags.listed(text, _known(), "controller", ", or none")


def _known() -> tuple[str, ...]:
    from longshore.plane.controllers import CONTROLLERS

    return tuple(CONTROLLERS)
