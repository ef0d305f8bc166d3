"""The walls around a container of the process runtime: the level that its pod or this longshore asks for, and
what its securityContext changes about them.

A level that this system cannot provide is lowered. But a pod that asks for `full` or for no network itself
does not start without it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from longshore.api.facts import own_names
from longshore.api.facts.isolation_levels import LEVELS, weaker
from longshore.api.types import Obj
from longshore.node.keeper.frames import USUAL_CAPABILITIES
from longshore.node.preparing.types import CannotPrepare, NodeFacts
from longshore.node.runtime import Walls

_NOTHING: Final[Obj] = {}
_ALL_CAPABILITIES: Final = (1 << 64) - 1
_NAMES: Final = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL",
    "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ",
    "PERFMON", "BPF", "CHECKPOINT_RESTORE",
)  # fmt: skip
"""The capabilities in the order of their numbers."""
_CAPABILITIES: Final = {name: number for number, name in enumerate(_NAMES)}
_SYS_ADMIN: Final = 1 << _CAPABILITIES["SYS_ADMIN"]


def level_of(pod: Obj, node: NodeFacts, strongest: str) -> str:
    """The level that the pod or this longshore asks for, lowered to what the system allows."""
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
    privileged, host_pid = bool(own.get("privileged")), bool(pod_spec.get("hostPID"))
    allowed = _ALL_CAPABILITIES if privileged else capabilities(own.get("capabilities"))
    profile = (own.get("seccompProfile") or whole.get("seccompProfile") or _NOTHING).get("type")
    parts = ("initContainers", "containers", "ephemeralContainers")
    return _walls(
        "full" if level == "full" else "process",
        allowed,
        not privileged and own.get("allowPrivilegeEscalation") is not True,
        level == "full" and profile != "Unconfined" and not allowed & _SYS_ADMIN,
        privileged,
        host_pid,
        bool(pod_spec.get("hostIPC")),
        bool(pod_spec.get("shareProcessNamespace")) and not host_pid,
        sum(len(pod_spec.get(part) or ()) for part in parts) > 1,
        no_network,
    )


_walls = lru_cache(maxsize=256)(Walls)
"""Equal walls are one object, so that the runtime finds its own form of them quickly."""


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
