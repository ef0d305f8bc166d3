"""The ConfigMaps and Secrets of one pod, read together. A missing one is an error of the container that needs
it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import account_volume, kinds
from longshore.api.types import Obj
from longshore.client import Client, Unreachable

Kind = Literal["configmap", "secret"]
_KINDS: Final = {"configmap": kinds.CONFIG_MAPS, "secret": kinds.SECRETS}


class Ref(NamedTuple):
    """One object of the pod's namespace."""

    kind: Kind
    name: str


class Missing(Exception):
    """An object or a key that is not there; the message is the kubelet's."""


class Sources:
    """The referenced objects when they were last read."""

    def __init__(self, namespace: str, refs: Iterable[Ref]) -> None:
        self.namespace = namespace
        self.refs = frozenset(refs)
        self._objects: dict[Ref, Obj | StatusError | Unreachable] = {}
        self._texts: dict[Ref, Mapping[str, str]] = {}
        self._contents: dict[Ref, Mapping[str, bytes]] = {}
        """Decoded once, however many variables or files come from one object."""

    async def read(self, client: Client) -> None:
        """Reads all of them (again). Errors are kept, and raised when the object is used."""

        async def one(ref: Ref) -> Obj | StatusError | Unreachable:
            try:
                return await client.get(_KINDS[ref.kind], ref.name, self.namespace)
            except (StatusError, Unreachable) as err:
                return err

        if len(self.refs) == 1:  # the common case, spared a task
            (ref,) = self.refs
            self._objects = {ref: await one(ref)}
        else:
            refs = [*self.refs]
            self._objects = dict(zip(refs, await asyncio.gather(*map(one, refs)), strict=True))
        self._texts, self._contents = {}, {}

    def get(self, ref: Ref, *, optional: bool) -> Obj | None:
        """The object; None if it is missing and optional. Raises Missing otherwise."""
        found = self._objects[ref]
        if not isinstance(found, Exception):
            return found
        if isinstance(found, Unreachable) or found.code != 404:
            raise Missing(str(found))
        if optional:
            return None
        raise Missing(f'{ref.kind} "{ref.name}" not found')

    def version(self, ref: Ref) -> str:
        """Which version of the object was read; empty if there was none."""
        found = self._objects[ref]
        return "" if isinstance(found, Exception) else found["metadata"]["resourceVersion"]

    def texts(self, ref: Ref, *, optional: bool) -> Mapping[str, str] | None:
        """The object's values for variables, by key; without the binary ones of a ConfigMap."""
        found = self.get(ref, optional=optional)
        if found is None:
            return None
        known = self._texts.get(ref)
        if known is None:
            data: Mapping[str, str] = found.get("data") or {}
            known = self._texts[ref] = data if ref.kind == "configmap" else _decoded(data)
        return known

    def contents(self, ref: Ref, *, optional: bool) -> Mapping[str, bytes] | None:
        """The object's values for files, by key."""
        found = self.get(ref, optional=optional)
        if found is None:
            return None
        known = self._contents.get(ref)
        if known is None:
            data = found.get("data") or {}
            if ref.kind == "secret":
                files = {key: base64.b64decode(value) for key, value in data.items()}
            else:
                files = {key: text.encode() for key, text in data.items()}
                binary = found.get("binaryData") or {}
                files.update((key, base64.b64decode(value)) for key, value in binary.items())
            known = self._contents[ref] = files
        return known


def _decoded(data: Mapping[str, str]) -> dict[str, str]:
    return {key: base64.b64decode(value).decode(errors="surrogateescape") for key, value in data.items()}


def of_environment(spec: Obj) -> set[Ref]:
    """The objects that the variables of all containers refer to."""
    refs: set[Ref] = set()
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(part) or ():
            for source in container.get("envFrom") or ():
                _add(refs, source.get("configMapRef"), source.get("secretRef"))
            for variable in container.get("env") or ():
                if source := variable.get("valueFrom"):
                    _add(refs, source.get("configMapKeyRef"), source.get("secretKeyRef"))
    return refs


def of_volumes(spec: Obj) -> set[Ref]:
    """The objects that fill the pod's volumes."""
    refs: set[Ref] = set()
    for volume in account_volume.others(spec):
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            _add(refs, source.get("configMap"), None)
            if secret := source.get("secret"):
                refs.add(Ref("secret", secret.get("secretName") or secret.get("name") or ""))
    return refs


def _add(refs: set[Ref], config_map: Obj | None, secret: Obj | None) -> None:
    if config_map is not None:
        refs.add(Ref("configmap", config_map.get("name") or ""))
    if secret is not None:
        refs.add(Ref("secret", secret.get("name") or ""))
