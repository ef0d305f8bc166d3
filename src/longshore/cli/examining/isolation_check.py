"""Check of the walls that pods can have on this machine for the user who asks, and what to turn on."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Final

from longshore.cli.examining.findings import Finding

_CURE_FOR_ROOT: Final = (
    "give longshore's container the capability SYS_ADMIN, or: longshore up --runtime podman"
)
"""Root without the right to make namespaces is root of a container."""


def isolation() -> Finding:
    """Asks a keeper of its own, which makes walls to try it."""
    from longshore.node.preparing import namespace_cures

    strongest, problem = asyncio.run(_tried())
    for_users, way_out = namespace_cures.for_users(), namespace_cures.way_out()
    return finding(strongest, problem, is_root=os.geteuid() == 0, for_users=for_users, way_out=way_out)


async def _tried() -> tuple[str, str]:
    """The strongest level, and why it is not full."""
    from longshore.node.runtimes.process import ProcessRuntime

    with tempfile.TemporaryDirectory(prefix="longshore-doctor-") as directory:
        runtime = ProcessRuntime(Path(directory) / "keeper", owned=True, isolation="full")
        try:
            await runtime.open(lambda _: None)
        except Exception as err:  # a keeper that does not start says so in ways of its own
            return "none", str(err)
        try:
            features = await runtime.features()
            return features.strongest, features.isolation_problem
        finally:
            await runtime.close(kill=True)


def finding(strongest: str, problem: str, *, is_root: bool, for_users: str, way_out: str) -> Finding:
    """`problem`: why there are no more walls than of the strongest level; `for_users` is the cure where a
    setting forbids them to users."""
    if strongest == "process":
        text = f"pods can have level process, not full: they see each other's files: {problem}"
        return Finding("isolation", "limited", text, _CURE_FOR_ROOT if is_root else way_out)
    if problem:
        text = f"pods can have level none alone, and are not kept to themselves: {problem}"
        return Finding("isolation", "limited", text, _CURE_FOR_ROOT if is_root else way_out)
    if not is_root:
        return Finding("isolation", "ok", "pods can have any level up to full, as an ordinary user")
    if for_users:
        text = "pods can have any level up to full as root, but none where an ordinary user starts longshore"
        return Finding("isolation", "ok", text, for_users)
    text = (
        "pods can have any level up to full, as root; no setting of the kernel forbids it to ordinary users"
    )
    return Finding("isolation", "ok", text)
