"""The user that an image names: who a container runs as that names none itself."""

from __future__ import annotations

from longshore.node.runtime import CannotStart, Container
from longshore.node.runtimes.podman_cli import Cli


async def of(cli: Cli, container: Container, image: str) -> str:
    """The user's name or number where the container names none and it matters, else empty. Raises CannotStart
    for a container that must not be root and may be."""
    must_not = container.rights.non_root
    if container.user is not None or (container.group is None and not must_not):
        return ""
    seen = await cli.run("image", "inspect", "--format", "{{.Config.User}}", image)
    if seen.code:
        raise CannotStart("CreateContainerError", seen.problem)
    user = seen.out.strip().partition(":")[0]
    if must_not and not user.isdecimal() and user not in ("", "root"):
        raise _may_be_root(container, f"image has non-numeric user ({user}), cannot verify user is non-root")
    if must_not and (user in ("", "root") or int(user) == 0):
        raise _may_be_root(container, "image will run as root")
    return user


def _may_be_root(container: Container, why: str) -> CannotStart:
    key = container.key
    who = f'(pod: "{container.pod}_{container.namespace}({key.pod_uid})", container: {key.container})'
    return CannotStart("CreateContainerConfigError", f"container has runAsNonRoot and {why} {who}")
