"""Makes the volumes of one pod, each by the file for its kind.

Every failure raises NotReady, in the kubelet's words. For an unsupported kind of volume the message lists the
supported ones.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable
from pathlib import Path
from typing import Final

from longshore.api.facts import account_volume
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery import file_trees
from longshore.machinery.in_thread import InThread
from longshore.node.preparing.environment.sources import Missing, Sources
from longshore.node.preparing.types import NodeFacts, NotReady, Volume
from longshore.node.preparing.volumes import atomic, claims, emptydir, hostpath, payload
from longshore.node.preparing.volumes.shared_directories import Shared

_SUPPORTED: Final = (
    "configMap",
    "downwardAPI",
    "emptyDir",
    "hostPath",
    "persistentVolumeClaim",
    "projected",
    "secret",
)

_MAX_INLINE_BYTES: Final = 2 << 20
"""The size of files written without a thread: more than a ConfigMap or Secret has, unless keys repeat."""


class Volumes:
    """The volumes of one pod, under `disk`, or `memory` for those in memory."""

    def __init__(
        self,
        client: Client,
        node: NodeFacts,
        pod: Obj,
        *,
        disk: Path,
        memory: Path,
        shared: Shared,
        token: payload.GetToken,
        in_thread: InThread,
    ) -> None:
        self._client = client
        self._node = node
        self._pod = pod
        self._disk = disk
        self._memory = memory
        self._shared = shared
        self._token = token
        self._in_thread = in_thread
        self._room = payload.Room()
        context = pod["spec"].get("securityContext") or {}
        group = context.get("fsGroup")
        self._group: int | None = group if node.user == 0 or group == node.group else None
        self._lazily = context.get("fsGroupChangePolicy") == "OnRootMismatch"

    def hold_shared(self) -> None:
        """Keeps the directories that the pod shares with others from being swept away."""
        for volume in account_volume.others(self._pod["spec"]):
            if _is_shared(volume):
                self._shared.path(self._pod, volume, self._group)

    async def make(self, sources: Sources) -> dict[str, Volume]:
        """Makes all volumes. Raises NotReady for the first that fails."""
        return {
            volume["name"]: await self._guarded(volume, self._make(volume, sources))
            for volume in account_volume.others(self._pod["spec"])
        }

    async def follow(self, sources: Sources) -> None:
        """Rewrites volumes whose source in the API has changed. A volume that fails stays as it is; the first
        failure is raised at the end."""
        first: NotReady | None = None
        for volume in account_volume.others(self._pod["spec"]):
            if follows(volume):
                try:
                    await self._guarded(volume, self._make(volume, sources))
                except NotReady as err:
                    first = first or err
        if first is not None:
            raise first

    async def _guarded(self, volume: Obj, making: Awaitable[Volume]) -> Volume:
        name = volume["name"]
        try:
            return await making
        except (Missing, ValueError, OSError, NotReady) as err:
            if "persistentVolumeClaim" in volume:
                text = (
                    f"Unable to attach or mount volumes: unmounted volumes=[{name}], "
                    f"unattached volumes=[{name}], failed to process volumes=[{name}]: {err}"
                )
            else:
                text = f'MountVolume.SetUp failed for volume "{name}" : {err}'
            raise NotReady("FailedMount", text) from None

    async def _make(self, volume: Obj, sources: Sources) -> Volume:
        name = volume["name"]
        if follows(volume):
            return await self._filled(volume, sources)
        if (source := volume.get("emptyDir")) is not None:
            made = emptydir.prepare(source, self._disk / name, self._memory / name)
            self._own(made, lazily=True)
            return made
        if (source := volume.get("hostPath")) is not None:
            return Volume(hostpath.prepare(source, self._node.data_directory))
        if (source := volume.get("persistentVolumeClaim")) is not None:
            made, may_own = await claims.prepare(source, self._pod, self._client, self._node.data_directory)
            if may_own and not made.read_only:
                self._own(made, lazily=self._lazily)
            return made
        kind = next((key for key in volume if key != "name"), "nothing")
        known = f"{', '.join(_SUPPORTED[:-1])} and {_SUPPORTED[-1]}"
        raise Missing(f"longshore has no volumes of type {kind}; it has {known}")

    async def _filled(self, volume: Obj, sources: Sources) -> Volume:
        path, version = self._disk / volume["name"], ""
        if _is_shared(volume):
            path = self._shared.path(self._pod, volume, self._group)
            version = sources.version(payload.ref_of(volume))
            if self._shared.holds(path, version):
                return Volume(str(path), read_only=True)
        files = await payload.files_of(volume, self._pod, sources, self._node, self._token, self._room)
        if sum(len(file.content) for file in files.values()) > _MAX_INLINE_BYTES:
            await self._in_thread(atomic.write, path, files, self._group)
        else:
            atomic.write(path, files, self._group)
        if version:
            self._shared.filled(path, version)
        return Volume(str(path), read_only=True)

    def _own(self, volume: Volume, *, lazily: bool) -> None:
        if self._group is not None:
            give_to_group(Path(volume.path), self._group, only_if_root_differs=lazily)


def follows(volume: Obj) -> bool:
    """Whether the volume's files come from the API, and change with it."""
    return any(kind in volume for kind in payload.KINDS)


def _is_shared(volume: Obj) -> bool:
    """Whether the volume's files are the same for every pod that has it."""
    return "configMap" in volume or "secret" in volume


_FILE_MODE: Final = 0o660
_DIRECTORY_MODE: Final = 0o2770
_SEE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def give_to_group(top: Path, group: int, *, only_if_root_differs: bool = False) -> None:
    """Gives everything below `top` to `group`. Never follows a link, so nothing outside is touched.

    With `only_if_root_differs` (fsGroupChangePolicy OnRootMismatch) nothing is done if the top directory,
    which is changed last, is right already. Raises PermissionError if this user may not change a file."""
    if only_if_root_differs:
        found = top.lstat()
        if found.st_gid == group and found.st_mode & _DIRECTORY_MODE == _DIRECTORY_MODE:
            return
    for folder, names, _ in file_trees.deepest_first(top):
        for name in names:
            if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                _give_file(name, folder, group)
            else:
                os.chown(name, -1, group, dir_fd=folder, follow_symlinks=False)
        _change(folder, group, _DIRECTORY_MODE)


def _give_file(name: str, folder: int, group: int) -> None:
    """Changes a file by its descriptor: the name may have become a link meanwhile."""
    handle = os.open(name, _SEE, dir_fd=folder)
    try:
        _change(handle, group, _FILE_MODE)
    finally:
        os.close(handle)


def _change(handle: int, group: int, bits: int) -> None:
    os.fchown(handle, -1, group)
    os.fchmod(handle, stat.S_IMODE(os.fstat(handle).st_mode) | bits)
