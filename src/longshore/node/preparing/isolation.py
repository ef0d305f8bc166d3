"""The walls around a container of the process runtime: the level that its pod or this longshore asks for, and
what its securityContext changes about them.

A level that this system cannot provide is lowered. But a pod that asks for `full` or for no network itself
does not start without it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from longshore.api.facts import own_names
from longshore.api.facts.isolation_levels import LEVELS, weaker
from longshore.api.types import Obj
from longshore.node.keeper.frames import USUAL_CAPABILITIES
from longshore.node.preparing.types import CannotPrepare, NodeFacts
from longshore.node.runtime import Walls

_NOTHING: Final[Obj] = {}
_ALL_CAPABILITIES: Final = (1 << 64) - 1
_CAPABILITIES: Final = {
    name: number
    for number, name in enumerate(
        [
            "CHOWN",
            "DAC_OVERRIDE",
            "DAC_READ_SEARCH",
            "FOWNER",
            "FSETID",
            "KILL",
            "SETGID",
            "SETUID",
            "SETPCAP",
            "LINUX_IMMUTABLE",
            "NET_BIND_SERVICE",
            "NET_BROADCAST",
            "NET_ADMIN",
            "NET_RAW",
            "IPC_LOCK",
            "IPC_OWNER",
            "SYS_MODULE",
            "SYS_RAWIO",
            "SYS_CHROOT",
            "SYS_PTRACE",
            "SYS_PACCT",
            "SYS_ADMIN",
            "SYS_BOOT",
            "SYS_NICE",
            "SYS_RESOURCE",
            "SYS_TIME",
            "SYS_TTY_CONFIG",
            "MKNOD",
            "LEASE",
            "AUDIT_WRITE",
            "AUDIT_CONTROL",
            "SETFCAP",
            "MAC_OVERRIDE",
            "MAC_ADMIN",
            "SYSLOG",
            "WAKE_ALARM",
            "BLOCK_SUSPEND",
            "AUDIT_READ",
            "PERFMON",
            "BPF",
            "CHECKPOINT_RESTORE",
        ]
    )
}
_SYS_ADMIN: Final = 1 << _CAPABILITIES["SYS_ADMIN"]


def level_of(pod: Obj, node: NodeFacts, strongest: str) -> str:
    """The level that is asked for, by the pod itself or for all pods of this longshore, lowered to what can
    be had here."""
    asked = (pod["metadata"].get("annotations") or _NOTHING).get(own_names.ISOLATION) or node.isolation
    return weaker(asked, strongest) if asked in LEVELS else "none"


def walls(spec: Obj, pod: Obj, node: NodeFacts, strongest: str) -> Walls | None:
    """The walls of one container, or None. `strongest` is the strongest level that can be had here. Raises
    CannotPrepare if the container must have more."""
    pod_spec = pod["spec"]
    annotations = pod["metadata"].get("annotations") or _NOTHING
    asked = annotations.get(own_names.ISOLATION)
    wanted = asked or node.isolation
    no_network = _no_network(annotations)
    if wanted not in LEVELS:
        raise _refused(own_names.ISOLATION, wanted, f"is not one of {', '.join(LEVELS)}")
    if wanted == "none" and no_network:
        raise _refused(own_names.NETWORK, "none", f"needs {own_names.ISOLATION} process or full")
    level = weaker(wanted, strongest)
    if asked == "full" and level != "full":
        raise _refused(own_names.ISOLATION, "full", f"cannot be had here; {way_out()}")
    if level == "none":
        if no_network:
            raise _refused(own_names.NETWORK, "none", f"cannot be had here; {way_out()}")
        return None
    own, whole = spec.get("securityContext") or _NOTHING, pod_spec.get("securityContext") or _NOTHING
    host_pid = bool(pod_spec.get("hostPID"))
    parts = ("initContainers", "containers", "ephemeralContainers")
    return _walls(
        "full" if level == "full" else "process",
        _Asked(own, whole) if own or whole else _USUAL_RIGHTS,
        host_pid,
        bool(pod_spec.get("hostIPC")),
        bool(pod_spec.get("shareProcessNamespace")) and not host_pid,
        sum(len(pod_spec.get(part) or ()) for part in parts) > 1,
        no_network,
    )


class _Asked:
    """The rights that a container's securityContext asks for, as a value that can be compared."""

    def __init__(self, own: Obj, whole: Obj) -> None:
        self.privileged = bool(own.get("privileged"))
        self.capabilities = _ALL_CAPABILITIES if self.privileged else capabilities(own.get("capabilities"))
        self.locked = not self.privileged and own.get("allowPrivilegeEscalation") is not True
        profile = (own.get("seccompProfile") or whole.get("seccompProfile") or _NOTHING).get("type")
        self.filtered = profile != "Unconfined" and not self.capabilities & _SYS_ADMIN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.privileged, self.capabilities, self.locked, self.filtered))


@lru_cache(maxsize=256)
def _walls(
    level: Literal["process", "full"],
    asked: _Asked,
    host_pid: bool,
    host_ipc: bool,
    share_pid: bool,
    siblings: bool,
    no_network: bool,
) -> Walls:
    return Walls(
        level,
        asked.capabilities,
        no_new_privileges=asked.locked,
        filtered=asked.filtered and level == "full",
        privileged=asked.privileged,
        host_pid=host_pid,
        host_ipc=host_ipc,
        share_pid=share_pid,
        siblings=siblings,
        no_network=no_network,
    )


def capabilities(asked: Obj | None) -> int:
    """The set after `drop` and `add`, a bit each. `ALL` is applied first; unknown names are ignored."""
    if not asked:
        return USUAL_CAPABILITIES
    add, drop = _names(asked.get("add")), _names(asked.get("drop"))
    found = _ALL_CAPABILITIES if "ALL" in add else 0 if "ALL" in drop else USUAL_CAPABILITIES
    for name in add & _CAPABILITIES.keys():
        found |= 1 << _CAPABILITIES[name]
    for name in drop & _CAPABILITIES.keys():
        found &= ~(1 << _CAPABILITIES[name])
    return found


def _names(listed: list[str] | None) -> set[str]:
    return {name.upper().removeprefix("CAP_") for name in listed or ()}


def _no_network(annotations: Obj) -> bool:
    asked = annotations.get(own_names.NETWORK)
    if asked not in (None, "", "none", "host"):
        raise _refused(own_names.NETWORK, asked, "is not one of none, host")
    return asked == "none"


def _refused(name: str, value: str, problem: str) -> CannotPrepare:
    text = f"annotation {name}: {value} {problem}"
    return CannotPrepare("CreateContainerConfigError", text, for_good=True)


_USUAL_RIGHTS: Final = _Asked({}, {})


_SYSCTLS: Final = Path("/proc/sys")
_FORBIDDING: Final = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "allow them with an AppArmor profile (docs/reference/node.md) or for every program with: "
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "allow them with: sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    ("user/max_user_namespaces", "0", "allow them with: sudo sysctl -w user.max_user_namespaces=15000"),
)
"""The setting, the value that forbids user namespaces, and the cure. AppArmor's is Ubuntu's since 24.04."""


def way_out(sysctls: Path = _SYSCTLS) -> str:
    """The way out: `allow them with …; or start longshore as root or with --runtime podman`."""
    always = "start longshore as root or with --runtime podman"
    cure = for_users(sysctls)
    return f"{cure}; or {always}" if cure else always


def for_users(sysctls: Path = _SYSCTLS) -> str:
    """The cure where a setting forbids user namespaces to ordinary users; empty where none does."""
    for name, forbidding, cure in _FORBIDDING:
        try:
            found = (sysctls / name).read_text().strip()
        except OSError:
            continue
        if found == forbidding:
            return cure
    return ""
