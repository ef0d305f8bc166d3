"""The files of volumes that the API fills: configMap, secret, downwardAPI and projected. Pure but for tokens.

Raises Missing in the kubelet's words. If an optional ConfigMap or Secret, or an optional key, is missing, its
files are left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from longshore.api.types import Obj
from longshore.node.preparing.environment import downward
from longshore.node.preparing.environment.sources import Missing, Ref, Sources
from longshore.node.preparing.types import NodeFacts
from longshore.node.preparing.volumes.atomic import File

KINDS: Final = ("configMap", "secret", "downwardAPI", "projected")
_DEFAULT_MODE: Final = 0o644
_UNKNOWN_KEY: Final = {
    "configmap": "configmap references non-existent config key: {}",
    "secret": "references non-existent secret key: {}",
}

MAX_POD_BYTES: Final = 64 << 20
"""The size of all files that the API fills for one pod, which may mount one key any number of times."""

Files: TypeAlias = dict[str, File]
GetToken: TypeAlias = Callable[[str, int], Awaitable[str]]
"""A token by audience and seconds."""


class Room:
    """The bytes of files that one pod may still have."""

    def __init__(self) -> None:
        self._left = MAX_POD_BYTES

    def take(self, content: bytes) -> bytes:
        self._left -= len(content)
        if self._left < 0:
            most = f"{MAX_POD_BYTES >> 20} MiB"
            raise TooMuch(f"the files of configMap, secret, downwardAPI and projected volumes exceed {most}")
        return content


class TooMuch(ValueError):
    """The files of a pod are more than it may have."""


async def files_of(
    volume: Obj, pod: Obj, sources: Sources, node: NodeFacts, token: GetToken, room: Room
) -> Files:
    """The current files of the volume, by path. They count against `room`; raises TooMuch beyond it."""
    kind, source = next((kind, volume[kind]) for kind in KINDS if kind in volume)
    mode = source.get("defaultMode")
    mode = _DEFAULT_MODE if mode is None else mode
    if kind != "projected":
        return _single(kind, source, mode, pod, sources, node, room)
    files: Files = {}
    problems = []
    for part in source.get("sources") or ():
        try:
            if wanted := part.get("serviceAccountToken"):
                text = await token(wanted.get("audience") or "", wanted.get("expirationSeconds") or 3600)
                files[wanted["path"]] = File(text.encode(), mode)
                continue
            for inner in ("configMap", "secret", "downwardAPI"):
                if (content := part.get(inner)) is not None:
                    files.update(_single(inner, content, mode, pod, sources, node, room))
                    break
            else:
                what = ", ".join(part) or "a source of a kind that is not enabled"
                text = "configMap, downwardAPI, secret and serviceAccountToken"
                raise Missing(f"longshore cannot project {what}; it projects {text}")
        except Missing as err:
            problems.append(str(err))
    if problems:
        raise Missing(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return files


def _single(
    kind: str, source: Obj, mode: int, pod: Obj, sources: Sources, node: NodeFacts, room: Room
) -> Files:
    if kind == "downwardAPI":
        return {item["path"]: _downward(item, mode, pod, node, room) for item in source.get("items") or ()}
    ref = ref_of({kind: source})
    optional = bool(source.get("optional"))
    data = sources.contents(ref, optional=optional)
    return {} if data is None else _picked(ref, data, source.get("items"), mode, optional, room)


def ref_of(volume: Obj) -> Ref:
    """The object that a configMap or secret volume, or projection, is filled from."""
    if (source := volume.get("configMap")) is not None:
        return Ref("configmap", source.get("name") or "")
    source = volume["secret"]
    return Ref("secret", source.get("secretName") or source.get("name") or "")


def _picked(
    ref: Ref, data: Mapping[str, bytes], items: list[Obj] | None, mode: int, optional: bool, room: Room
) -> Files:
    if not items:
        return {key: File(room.take(content), mode) for key, content in data.items()}
    files: Files = {}
    for item in items:
        content = data.get(item["key"])
        if content is None:
            if optional:
                continue
            raise Missing(_UNKNOWN_KEY[ref.kind].format(item["key"]))
        own = item.get("mode")
        files[item["path"]] = File(room.take(content), mode if own is None else own)
    return files


def _downward(item: Obj, mode: int, pod: Obj, node: NodeFacts, room: Room) -> File:
    own = item.get("mode")
    try:
        if ref := item.get("fieldRef"):
            text = downward.field_value(pod, ref["fieldPath"], node)
        else:
            text = downward.resource_value(item.get("resourceFieldRef") or {}, pod, None, node)
    except downward.NoSuchField as err:
        raise Missing(str(err)) from None
    return File(room.take(text.encode()), mode if own is None else own)
