"""Queues: create, list, get, operate, delete."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from typing import TYPE_CHECKING, Final

from longshore.cli.printing import columns
from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import SCHEDULING, Wrong

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

_PHASES: Final = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
_SHORT_PHASES: Final = _PHASES[:-1]
"""The phases that `vqueues` shows; it shows no parents either."""
_NAMED: Final = "queue name must be specified"
_ACTIONS: Final = {"open": "OpenQueue", "close": "CloseQueue"}
_COMMANDS: Final = "default"
"""Queues have no namespace; commands about them are issued in this one."""


def create_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--name", "-n", default="test", metavar="NAME", help="default: test")
    parser.add_argument(
        "--weight", "-w", type=int, default=1, metavar="N", help="the queue's share (default: 1)"
    )
    parser.add_argument("--state", "-S", default="Open", metavar="STATE", help="default: Open")


def create(server: Server, arguments: Namespace) -> str:
    if not arguments.name:
        raise Wrong(_NAMED)
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": arguments.name},
        "spec": {"weight": arguments.weight},
        "status": {"state": arguments.state},
    }
    server.json("POST", vcctl.path(SCHEDULING, "queues"), body=queue)
    return ""


def no_flags(parser: ArgumentParser) -> None:
    """Adds nothing: the verb has the common flags only."""


def list_(server: Server, arguments: Namespace) -> str:
    queues = vcctl.listed(server, SCHEDULING, "queues")
    return _table(server, queues) if queues else "No resources found"


def one_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--name", "-n", default="", metavar="NAME", help="name of the queue")


def get(server: Server, arguments: Namespace) -> str:
    if not arguments.name:
        raise Wrong("name is mandatory to get the particular queue details")
    return _table(server, [server.json("GET", vcctl.path(SCHEDULING, "queues", name=arguments.name))])


def vqueues(server: Server, arguments: Namespace) -> str:
    """The table of `vqueues`, of all queues or of one."""
    if arguments.name:
        queues = [server.json("GET", vcctl.path(SCHEDULING, "queues", name=arguments.name))]
    else:
        queues = vcctl.listed(server, SCHEDULING, "queues")
    return _table(server, queues, short=True) if queues else "No resources found"


def _table(server: Server, queues: list[Obj], *, short: bool = False) -> str:
    groups = vcctl.listed(server, SCHEDULING, "podgroups")
    counts = Counter(
        ((group.get("spec") or {}).get("queue"), (group.get("status") or {}).get("phase")) for group in groups
    )
    phases, parent = (_SHORT_PHASES, ()) if short else (_PHASES, ("Parent",))
    rows: list[tuple[str, ...]] = [("Name", "Weight", "State", *parent, *phases)]
    for queue in queues:
        name, spec = queue["metadata"]["name"], queue.get("spec") or {}
        state = (queue.get("status") or {}).get("state") or ""
        numbers = (str(counts[name, phase]) for phase in phases)
        above = () if short else (spec.get("parent") or "",)
        rows.append((name, str(spec.get("weight", 0)), state, *above, *numbers))
    return columns.padded(rows, [25, *([8] * (len(rows[0]) - 1))])


def operate_flags(parser: ArgumentParser) -> None:
    one_flags(parser)
    parser.add_argument("--weight", "-w", type=int, default=0, metavar="N", help="the new share, for update")
    parser.add_argument("--action", "-a", default="", metavar="A", help="open, close or update")


def operate(server: Server, arguments: Namespace) -> str:
    name, action = arguments.name, arguments.action
    if not name:
        raise Wrong(_NAMED)
    if action == "update":
        return _update(server, arguments)
    if not action:
        raise Wrong("action can not be null")
    if action not in _ACTIONS:
        raise Wrong(f"action {action} invalid, valid actions are open, close and update")
    queue = server.json("GET", vcctl.path(SCHEDULING, "queues", name=name))
    vcctl.order(server, queue, _ACTIONS[action], _COMMANDS)
    return ""


def _update(server: Server, arguments: Namespace) -> str:
    if arguments.weight == 0:
        raise Wrong(
            f"when update queue {arguments.name}, weight must be specified, the value must be greater than 0"
        )
    server.json(
        "PATCH",
        vcctl.path(SCHEDULING, "queues", name=arguments.name),
        body={"spec": {"weight": arguments.weight}},
        content_type="application/merge-patch+json",
    )
    return ""


def delete(server: Server, arguments: Namespace) -> str:
    if not arguments.name:
        raise Wrong(_NAMED)
    server.json("DELETE", vcctl.path(SCHEDULING, "queues", name=arguments.name))
    return ""
