"""A container's process, forked by the nursery: it enters the namespaces it is given and becomes the command.

The keeper hears on a pipe which process that is, and why it could not begin if so (starter.py).
"""

from __future__ import annotations

import os

from longshore.node.keeper.processes import launching, linux
from longshore.node.keeper.walls import rights, users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.processes.launching import Command
    from longshore.node.keeper.walls.rights import Rights
    from longshore.node.keeper.walls.users import Identity

    Birth = tuple[Command, list[int], Rights, Identity | None, bool]
    """The command, the kinds of the namespaces to enter, the rights to keep, the user to become, and whether
    there is a cgroup to join."""


def be_born(request: Birth, descriptors: list[int]) -> None:
    """The descriptors: the pipe to tell; output, error output and input, where the command has them; the
    cgroup's list of processes; namespaces."""
    command, kinds, kept, identity, is_limited = request
    argv, env, cwd, stdin, output, error, tty = command
    tell, *given = descriptors
    if not tty:
        output, error = given.pop(0), given.pop(0)
        stdin = given.pop(0) if stdin >= 0 else -1
    cgroup = given.pop(0) if is_limited else -1
    for fd, kind in zip(given, kinds, strict=True):
        linux.setns(fd, kind)
    pid = linux.clone(linux.SIBLING) if linux.NEWPID in kinds else os.getpid()
    if pid:
        os.write(tell, b"\0%d\0" % pid)
    if pid and linux.NEWPID in kinds:
        os._exit(0)  # the other one is in the namespace

    def before() -> None:
        if is_limited:
            os.write(cgroup, b"0")
        rights.shrink(kept)
        if identity is not None:
            users.become(identity)

    launching.become(tell, before, (argv, env, cwd, stdin, output, error, tty))
