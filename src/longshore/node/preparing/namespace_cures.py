"""The way out of a machine where longshore may make no mounts: the setting that forbids it, and its cure."""

from __future__ import annotations

from pathlib import Path
from typing import Final

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
