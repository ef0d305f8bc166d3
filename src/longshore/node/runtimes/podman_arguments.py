"""The arguments of `podman create` for a container. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from longshore.api.types import encode
from longshore.node.images import image_table
from longshore.node.runtime import Container, Key, Mount

KEY_LABEL: Final = "dev.longshore.key"
OWNER_LABEL: Final = "dev.longshore.owner"
_LOG_SIZE: Final = "50mb"
"""The size of the process runtime's five log files. Podman cannot rotate: the file starts over."""

_DOMAIN: Final = (
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*"
)
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?:(?P<domain>{_DOMAIN}(?::[0-9]+)?)/)?(?P<path>{_PART}(?:/{_PART})*)"
    r"(?P<tag>:[\w][\w.-]{0,127})?(?P<digest>@[A-Za-z][A-Za-z0-9]*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


class Machine(msgspec.Struct, frozen=True):
    """The settings of this machine for every container."""

    owner: str
    """Marks the containers of one longshore."""
    runtime: str = ""
    """An OCI runtime other than podman's default."""
    ulimits: tuple[str, ...] = ()
    """`nofile=…`, where podman's own limits are beyond what may be set here."""


class Mask(msgspec.Struct, frozen=True):
    """A path in a container that is covered, although a volume shows it."""

    target: str
    is_directory: bool


def masks(mounts: Sequence[Mount], secrets: Sequence[tuple[str, bool]]) -> list[Mask]:
    """The masks over secrets that mounts of directories above them show. Paths on this machine are real ones;
    a secret says whether it is a directory."""
    return [
        Mask(mount.target.rstrip("/") + path[len(mount.source.rstrip("/")) :], is_directory)
        for mount in mounts
        for path, is_directory in secrets
        if path == mount.source or path.startswith(mount.source.rstrip("/") + "/")
    ]


def name_of(key: Key) -> str:
    return f"longshore-{key.pod_uid}-{key.container}-{key.attempt}"


def key_of(text: str) -> Key:
    uid, container, attempt = text.split("/")
    return Key(uid, container, int(attempt))


def reference(image: str) -> str:
    """The full name of an image, as Kubernetes completes it. Raises ValueError for other text."""
    found = _REFERENCE.fullmatch(image)
    if found is None:
        raise ValueError("invalid reference format")
    full = image_table.complete_name(image)
    if full.repository.startswith("docker.io/") and full.repository != full.repository.lower():
        raise ValueError("invalid reference format: repository name must be lowercase")
    return str(full)


def create(
    container: Container, image: str, machine: Machine, image_user: str = "", masks: Sequence[Mask] = ()
) -> list[str]:
    """The words after `podman`. `image_user` is the image's user, for a container that names only a group."""
    words = ["--runtime", machine.runtime] if machine.runtime else []
    words += ["create", "--name", name_of(container.key), "--pull", "never"]
    words += ["--label", f"{KEY_LABEL}={container.key}", "--label", f"{OWNER_LABEL}={machine.owner}"]
    # Pods have addresses of this machine's loopback network, so all share its network.
    words += ["--network", "host", "--systemd", "false", "--sdnotify", "ignore", "--http-proxy=false"]
    if container.target is not None:
        words += ["--pid", f"container:{name_of(container.target)}"]
    words += ["--log-driver", "k8s-file", "--log-opt", f"path={container.log}"]
    if not container.whole_log:
        words += ["--log-opt", f"max-size={_LOG_SIZE}"]
    for limit in machine.ulimits:
        words += ["--ulimit", limit]
    for name, value in container.env:
        words += ["--env", f"{name}={value}"]
    for mount in _mounts(container):
        words += ["--mount", _mount(mount)]
    for mask in masks:
        words += ["--mount", _mask(mask)]
    words += [*_identity(container, image_user), *_rights(container), *_limits(container)]
    if container.working_dir:
        words += ["--workdir", container.working_dir]
    if container.stdin:
        words.append("--interactive")
    if container.tty:
        words.append("--tty")
    if container.command:
        words += ["--entrypoint", encode(list(container.command)).decode()]
    return [*words, image, *container.args]


def _mounts(container: Container) -> list[Mount]:
    mounts = list(container.mounts)
    if container.termination_message is not None:
        mounts.append(Mount(str(container.termination_message), container.termination_path))
    return mounts


def _mount(mount: Mount) -> str:
    fields = ["type=bind", f"source={mount.source}", f"target={mount.target}", "bind-propagation=rprivate"]
    if mount.read_only:
        fields.append("ro=true")
    return ",".join(_quoted(field) for field in fields)


def _mask(mask: Mask) -> str:
    if not mask.is_directory:
        return _mount(Mount("/dev/null", mask.target, read_only=True))
    return ",".join(
        ("type=tmpfs", _quoted(f"target={mask.target}"), "ro=true", "tmpfs-size=4096", "notmpcopyup")
    )


def _quoted(field: str) -> str:
    """A text quoted for podman's comma-separated values."""
    return '"' + field.replace('"', '""') + '"' if set(field) & set(',"\n') else field


def _identity(container: Container, image_user: str) -> Sequence[str]:
    words = []
    if container.user is not None:
        group = f":{container.group}" if container.group is not None else ""
        words += ["--user", f"{container.user}{group}"]
    elif container.group is not None:
        words += ["--user", f"{image_user or 0}:{container.group}"]
    for group_number in container.groups:
        words += ["--group-add", str(group_number)]
    if container.hostname:
        words += ["--hostname", container.hostname]
    if container.read_only_root:
        words += ["--read-only", "--read-only-tmpfs=false"]
    return words


def _rights(container: Container) -> Sequence[str]:
    rights = container.rights
    words = ["--privileged"] * rights.privileged
    for name in rights.add:
        words += ["--cap-add", name]
    for name in rights.drop:
        words += ["--cap-drop", name]
    if rights.no_new_privileges:
        words += ["--security-opt", "no-new-privileges"]
    if not rights.filtered:
        words += ["--security-opt", "seccomp=unconfined"]
    return words


def _limits(container: Container) -> Sequence[str]:
    limits, words = container.limits, []
    if limits.memory is not None:
        words += ["--memory", str(limits.memory), "--memory-swap", str(limits.memory)]
    if limits.cpu_millis is not None:
        words += ["--cpus", f"{limits.cpu_millis / 1000:g}"]
    if limits.cpu_request_millis:
        words += ["--cpu-shares", str(max(2, limits.cpu_request_millis * 1024 // 1000))]
    return words
