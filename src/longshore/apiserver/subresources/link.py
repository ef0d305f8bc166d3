"""A checked request for a two-way connection to a pod: exec, attach or port-forward. HTTP opens it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from longshore.api import errors
from longshore.api.container_streams import Session
from longshore.api.types import Obj
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.options import truth
from longshore.apiserver.subresources.node_access import NodeDoor


class Streams(NamedTuple):
    """Which of a command's streams the client wants."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


NO_STREAMS: Final = Streams()


class Link(msgspec.Struct, frozen=True):
    """The target and streams of a connection. `ports` come from the query, where only old clients of
    port-forward send them; newer ones name the port of each connection they open."""

    door: NodeDoor
    pod: Obj
    kind: Literal["exec", "attach", "portforward"]
    container: str = ""
    command: tuple[str, ...] = ()
    streams: Streams = NO_STREAMS
    ports: tuple[int, ...] = ()

    async def open(self) -> Session:
        """Starts the command, or attaches to the container."""
        if self.kind == "attach":
            return await self.door.attach(self.pod, self.container)
        return await self.door.exec(
            self.pod, self.container, self.command, stdin=self.streams.stdin, tty=self.streams.tty
        )


def to_container(door: NodeDoor, pod: Obj, container: str, call: Call) -> Link:
    """The link for exec or attach, by the query."""
    streams = Streams(*(truth(call.one(name)) for name in ("stdin", "stdout", "stderr", "tty")))
    if streams.tty:
        streams = streams._replace(stderr=False)  # a terminal has one output
    if not any(streams[:3]):
        raise errors.bad_request("you must specify at least 1 of stdin, stdout, stderr")
    if call.subresource == "attach":
        door.check_running(pod, container)
        return Link(door, pod, "attach", container, streams=streams)
    command = tuple(call.query.get("command", ()))
    if not command:
        raise errors.bad_request("you must specify a command to run")
    door.check_running(pod, container)
    return Link(door, pod, "exec", container, command, streams)


def to_ports(door: NodeDoor, pod: Obj, call: Call) -> Link:
    """The link for port-forward, by the query."""
    ports = []
    for text in ",".join(call.query.get("ports", ())).split(","):
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536):
            raise errors.bad_request(f'invalid port "{text}": a port is a number between 1 and 65535')
        ports.append(int(text))
    return Link(door, pod, "portforward", ports=tuple(ports))
