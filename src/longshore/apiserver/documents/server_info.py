"""Information about the server outside the API: its version, its health, its paths.

The version is that of the Kubernetes whose behaviour is served, since clients decide by it what they
may use; which program answers can be seen from the build details.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import longshore
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.documents.discovery import groups, versions

KUBERNETES: Final = ("1", "36", "4")
_OLDEST_MINOR: Final = "35"  # the release whose requests Kubernetes of this version still promises to serve
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
HEALTH: Final = ("healthz", "livez", "readyz")

Check = Callable[[], bool]
"""Reports whether one part of the server is healthy."""


def version() -> Obj:
    """`/version`. Helm, kopf and others read gitVersion as a semantic version."""
    major, minor, patch = KUBERNETES
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": _OLDEST_MINOR,
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitCommit": f"longshore-{longshore.__version__}",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_MACHINES.get(machine, machine)}",
    }


def root_paths(rows: Sequence[Resource], checks: Iterable[str]) -> Obj:
    """`/`: the paths that a client may try, in order."""
    paths = ["/api", "/apis", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
    names = list(checks)
    for health_path in HEALTH:
        paths += [f"/{health_path}", *(f"/{health_path}/{name}" for name in names)]
    for group in groups(rows):
        if group:
            paths.append(f"/apis/{group}")
        paths += [f"/apis/{group}/{v}" if group else f"/api/{v}" for v in versions(rows, group)]
    return {"paths": sorted(set(paths))}


def health(
    path: str, checks: Mapping[str, Check], *, verbose: bool = False, exclude: Collection[str] = ()
) -> tuple[int, str] | None:
    """Code and text for `/healthz`, `/livez`, `/readyz` and each check below them; None for other paths.

    A failing check is named but not explained: callers need no credentials here.
    """
    kind, _, name = path.strip("/").partition("/")
    if kind not in HEALTH:
        return None
    if name:
        if name not in checks:
            return None
        return (200, "ok") if checks[name]() else (500, f"internal server error: {name} is not well\n")
    lines = []
    failed = False
    for each, check in checks.items():
        if each in exclude:
            lines.append(f"[+]{each} excluded: ok\n")
        elif check():
            lines.append(f"[+]{each} ok\n")
        else:
            failed = True
            lines.append(f"[-]{each} failed: reason withheld\n")
    unknown = sorted(set(exclude) - checks.keys())
    if unknown:
        quoted = ",".join(f'"{u}"' for u in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}\n")
    report = "".join(lines)
    if failed:
        return 500, f"{report}{kind} check failed\n"
    return (200, f"{report}{kind} check passed\n") if verbose else (200, "ok")
