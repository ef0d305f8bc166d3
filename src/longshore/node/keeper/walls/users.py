"""Runs a container as another user. Only root can do that; others may ask for their own user."""

from __future__ import annotations

import os

from longshore.node.keeper import procfs
from longshore.node.keeper.frames import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.frames import Spec

    Identity = tuple[int, int, list[int]]

_MACHINE_NAMESPACE = 0xEFFFFFFD
"""The inode of the user namespace that every kernel begins with."""


def identity(spec: Spec) -> Identity | None:
    """User, group and other groups to become, or None if the keeper has them. Raises Refused."""
    uid, gid, groups = spec["uid"], spec["gid"], spec["groups"]
    if uid is None and gid is None and not groups:
        return None
    own_uid, own_gid = os.geteuid(), os.getegid()
    if own_uid == 0:
        if not uid and not gid and not groups:
            return None
        for name, wanted in (("uid", [uid or 0]), ("gid", [gid or 0, *groups])):
            unknown = [number for number in wanted if not _is_mapped(name, number)]
            if unknown:
                raise Refused(
                    "CreateContainerConfigError",
                    f"the user namespace that longshore runs in has no {name} {unknown[0]}",
                )
        return (uid or 0, gid or 0, groups)
    if uid is not None and uid != own_uid:
        raise _needs_root("runAsUser", uid, own_uid)
    if gid is not None and gid != own_gid:
        raise _needs_root("runAsGroup", gid, own_gid)
    other = [group for group in groups if group not in (own_gid, *os.getgroups())]
    if other:
        raise _needs_root("supplementary group", other[0], own_gid)
    return None


def is_machine_root() -> bool:
    """Whether this process is root, and not only of a user namespace."""
    return os.geteuid() == 0 and os.stat("/proc/self/ns/user").st_ino == _MACHINE_NAMESPACE


def _is_mapped(kind: str, number: int) -> bool:
    """Whether the user namespace of this process has a user or group of that number."""
    for line in procfs.read(f"/proc/self/{kind}_map").splitlines():
        first, _, count = map(int, line.split())
        if first <= number < first + count:
            return True
    return False


def of_process(pid: int) -> Identity | None:
    """The identity of a process, if it differs from the keeper's."""
    found: dict[str, list[int]] = {}
    for line in procfs.read(f"/proc/{pid}/status").decode(errors="replace").splitlines():
        name, _, rest = line.partition(":")
        if name in ("Uid", "Gid", "Groups"):
            found[name] = [int(word) for word in rest.split()]
    uid, gid = found["Uid"][0], found["Gid"][0]
    return None if os.geteuid() or (uid, gid) == (0, 0) else (uid, gid, found["Groups"])


def become(wanted: Identity) -> None:
    """Changes user and groups of this process, a new child, for good."""
    uid, gid, groups = wanted
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _needs_root(what: str, wanted: int, own: int) -> Refused:
    return Refused(
        "CreateContainerConfigError",
        f"{what} {wanted} needs root: longshore runs as {own} and cannot change it",
    )
