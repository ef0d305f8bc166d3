"""Makes the volumes of one pod, each by the file for its kind.

Whatever goes wrong is NotReady, in the kubelet's words. A kind that longshore has not got is named, with
those it has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from longshore.api.types import Obj
from longshore.client import Client
from longshore.node.preparing.environment.sources import Missing, Sources
from longshore.node.preparing.types import NodeFacts, NotReady, Volume
from longshore.node.preparing.volumes import atomic, claims, emptydir, fs_group, hostpath, payload
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

GetToken = Callable[[str, int], Awaitable[str]]


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
        token: GetToken,
    ) -> None:
        self._client = client
        self._node = node
        self._pod = pod
        self._disk = disk
        self._memory = memory
        self._shared = shared
        self._token = token
        context = pod["spec"].get("securityContext") or {}
        group = context.get("fsGroup")
        self._group: int | None = group if node.user == 0 or group == node.group else None
        self._lazily = context.get("fsGroupChangePolicy") == "OnRootMismatch"

    def hold_shared(self) -> None:
        """Keeps the directories that the pod shares with others from being swept away."""
        for volume in self._pod["spec"]["volumes"]:
            if _is_shared(volume):
                self._shared.path(self._pod, volume, self._group)

    async def make(self, sources: Sources) -> dict[str, Volume]:
        """All of them, or NotReady for the first that cannot be."""
        return {
            volume["name"]: await self._guarded(volume, self._make(volume, sources))
            for volume in self._pod["spec"]["volumes"]
        }

    async def follow(self, sources: Sources) -> None:
        """Writes those again that the API fills, where their source changed. What cannot be had stays as it
        is; the first reason is raised at the end."""
        first: NotReady | None = None
        for volume in self._pod["spec"]["volumes"]:
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
            return Volume(hostpath.prepare(source))
        if (source := volume.get("persistentVolumeClaim")) is not None:
            made, may_own = await claims.prepare(source, self._pod, self._client)
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
        files = await payload.files_of(volume, self._pod, sources, self._node, self._token)
        atomic.write(path, files, self._group)
        if version:
            self._shared.filled(path, version)
        return Volume(str(path), read_only=True)

    def _own(self, volume: Volume, *, lazily: bool) -> None:
        if self._group is not None:
            fs_group.give(Path(volume.path), self._group, only_if_root_differs=lazily)


def follows(volume: Obj) -> bool:
    """Whether its files come from the API, and change with it."""
    return any(kind in volume for kind in payload.KINDS)


def _is_shared(volume: Obj) -> bool:
    """Whether its files are the same for every pod that asks for them."""
    return "configMap" in volume or "secret" in volume
