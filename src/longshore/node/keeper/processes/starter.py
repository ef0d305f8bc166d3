"""The way a process is started: spawned where the keeper can, forked where something is to be done before its
first instruction, and forked by the nursery where the keeper cannot any more.

A spawned one costs the keeper 0.16 ms, a forked one 0.42, one of the nursery 0.6 (bench/keeper.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from longshore.node.keeper.processes import launching
from longshore.node.keeper.talking.refused import Refused
from longshore.node.keeper.walls import rights, users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.processes.launching import Command
    from longshore.node.keeper.walls.namespaces import Namespaces
    from longshore.node.keeper.walls.rights import Rights
    from longshore.node.keeper.walls.users import Identity

_PID = re.compile(rb"\0(\d+)\0")


class Starter:
    """Starts processes where the keeper stands (namespaces.py)."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._worn: Rights = rights.EVERYTHING

    def start(self, command: Command, wanted: Rights, identity: Identity | None, cgroup: int) -> int:
        """The pid. Raises Refused or OSError. `cgroup` is the list of processes to join, or -1."""
        if not self._namespaces.can_spawn or not rights.fits(wanted, self._worn):
            return self._bear(command, wanted, identity, cgroup)
        if wanted != self._worn and rights.is_usual(wanted):
            rights.shrink(wanted, self._worn)
            self._worn = wanted
        if identity is None and cgroup < 0 and wanted == self._worn:
            return launching.spawn(command)
        worn = self._worn

        def before() -> None:
            if cgroup >= 0:
                os.write(cgroup, b"0")
            if wanted != worn:
                rights.shrink(wanted, worn)
            if identity is not None:
                users.become(identity)

        return launching.fork(before, command)

    def _bear(self, command: Command, wanted: Rights, identity: Identity | None, cgroup: int) -> int:
        nursery = self._namespaces.nursery
        assert nursery is not None  # without one nothing was given up, and everything fits
        *_, stdin, output, error, tty = command
        streams = [] if tty else [output, error, *([stdin] if stdin >= 0 else [])]
        kinds, opened = self._namespaces.here()
        told, tell = os.pipe2(os.O_CLOEXEC)
        try:
            limits = [cgroup] if cgroup >= 0 else []
            request = (command, kinds, wanted, identity, bool(limits))
            nursery.bear(request, [tell, *streams, *limits, *opened])
        finally:
            _close([tell, *opened])
        with os.fdopen(told, "rb") as pipe:
            said = pipe.read()
        found = _PID.search(said)
        problem = _PID.sub(b"", said)
        pid = int(found[1]) if found else 0
        if not problem and pid:
            return pid
        if pid:
            os.waitpid(pid, 0)
        reason, _, message = problem.decode(errors="replace").partition("\n")
        raise Refused(reason or "RunContainerError", message or "the nursery could not fork")


def _close(descriptors: Sequence[int]) -> None:
    for fd in descriptors:
        os.close(fd)
