"""Another user for a container. Only root can become one; everybody may ask for himself."""

from __future__ import annotations

import os

from longshore.node.keeper.processes import procfs
from longshore.node.keeper.talking.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.talking.frames import Spec

    Identity = tuple[int, int, list[int]]


def identity(spec: Spec) -> Identity | None:
    """User, group and other groups to become, or None if that is what the keeper is."""
    uid, gid, groups = spec["uid"], spec["gid"], spec["groups"]
    if uid is None and gid is None and not groups:
        return None
    own_uid, own_gid = os.geteuid(), os.getegid()
    if own_uid == 0:
        if not uid and not gid and not groups:
            return None
        return (uid or 0, gid or 0, groups)
    if uid is not None and uid != own_uid:
        raise _needs_root("runAsUser", uid, own_uid)
    if gid is not None and gid != own_gid:
        raise _needs_root("runAsGroup", gid, own_gid)
    other = [group for group in groups if group not in (own_gid, *os.getgroups())]
    if other:
        raise _needs_root("supplementary group", other[0], own_gid)
    return None


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
    """In the child, for good."""
    uid, gid, groups = wanted
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _needs_root(what: str, wanted: int, own: int) -> Refused:
    return Refused(
        "CreateContainerConfigError",
        f"{what} {wanted} needs root: longshore runs as {own} and cannot change it",
    )
