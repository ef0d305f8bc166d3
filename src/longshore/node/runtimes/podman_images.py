"""Images of the podman runtime: each is pulled when a container needs it, with pauses after failures.

Also the user that an image names, for a container that names none itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api.time.backoff import Doubling
from longshore.node.runtime import CannotStart, Container
from longshore.node.runtimes import podman_arguments as arguments
from longshore.node.runtimes.podman_cli import Cli

_PULL_PAUSES: Final = Doubling(10.0, 300.0)
"""Pauses between two attempts to pull an image, as kubelets have them."""


class PodmanImages:
    def __init__(self, cli: Cli, monotonic: Callable[[], float]) -> None:
        self._cli, self._monotonic = cli, monotonic
        self._pulls: dict[str, tuple[float, float, str]] = {}
        """Images that could not be pulled: when the next attempt is due, after which pause, and why."""

    async def present(self, container: Container) -> str:
        """The image's name in podman; pulls the image if needed. Raises CannotStart."""
        try:
            full = arguments.reference(container.image)
        except ValueError as bad:
            text = f'couldn\'t parse image name "{container.image}": {bad}'
            raise CannotStart(
                "InvalidImageName", f'Failed to apply default image tag "{container.image}": {text}'
            ) from None
        if container.pull != "Always":
            for name in (container.image, full):
                if (await self._cli.run("image", "exists", name)).code == 0:
                    return name
        if container.pull == "Never":
            raise CannotStart(
                "ErrImageNeverPull",
                f'Container image "{container.image}" is not present with pull policy of Never',
            )
        self._refuse_while_backing_off(container.image, full)
        pulled = await self._cli.run("pull", "--quiet", full)
        if pulled.code:
            message = f'failed to pull and unpack image "{full}": {pulled.problem}'
            _, pause, _ = self._pulls.get(full, (0.0, 0.0, ""))
            pause = _PULL_PAUSES.following(pause)
            self._pulls[full] = (self._monotonic() + pause, pause, message)
            raise CannotStart("ErrImagePull", message)
        self._pulls.pop(full, None)
        return full

    def _refuse_while_backing_off(self, image: str, full: str) -> None:
        until, _, message = self._pulls.get(full, (0.0, 0.0, ""))
        if self._monotonic() < until:
            text = f'Back-off pulling image "{image}": ErrImagePull: {message}'
            raise CannotStart("ImagePullBackOff", text)

    async def user(self, container: Container, image: str) -> str:
        """The image's user, if the container's user depends on it, else empty. Raises CannotStart if a
        container that must not run as root might."""
        must_not = container.rights.non_root
        if container.user is not None or (container.group is None and not must_not):
            return ""
        seen = await self._cli.run("image", "inspect", "--format", "{{.Config.User}}", image)
        if seen.code:
            raise CannotStart("CreateContainerError", seen.problem)
        user = seen.out.strip().partition(":")[0]
        if must_not and not user.isdecimal() and user not in ("", "root"):
            raise _may_be_root(
                container, f"image has non-numeric user ({user}), cannot verify user is non-root"
            )
        if must_not and (user in ("", "root") or int(user) == 0):
            raise _may_be_root(container, "image will run as root")
        return user


def _may_be_root(container: Container, why: str) -> CannotStart:
    key = container.key
    who = f'(pod: "{container.pod}_{container.namespace}({key.pod_uid})", container: {key.container})'
    return CannotStart("CreateContainerConfigError", f"container has runAsNonRoot and {why} {who}")
