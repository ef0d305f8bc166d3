"""Turns a pod's manifest into the containers that a runtime starts.

A pod without volumes and references is prepared from caches alone: no request, nothing written. The
references of other pods are read when the pod is prepared, and again by `refresh`; `container` itself never
waits for anything.

On disk, below `root`: `<uid>/volumes/<name>`, `<uid>/containers/<name>/<attempt>` (termination messages),
`<uid>/etc-hosts`; shared by several pods are `.accounts/<namespace>/<name>`, `.hosts/` and `.shared/`. Logs
lie beside `root`. emptyDirs of medium Memory lie in /dev/shm.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from longshore.api import quantity
from longshore.api.facts import account_volume, kinds, own_names
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery import file_trees
from longshore.machinery.in_thread import InThread
from longshore.machinery.informers.informer import Informer, Informers
from longshore.machinery.time.clock import Clock
from longshore.node.images.images_file import ImagesFile
from longshore.node.preparing import hosts as hosts_files
from longshore.node.preparing import image_meaning, isolation, security
from longshore.node.preparing.environment import container_env, items
from longshore.node.preparing.environment import sources as referenced
from longshore.node.preparing.environment.expansion import Room, from_maps
from longshore.node.preparing.service_account import Accounts, Ready, Tokens
from longshore.node.preparing.types import CannotPrepare, NodeFacts, PreparedPod, Server, Volume
from longshore.node.preparing.volumes import emptydir, mounts
from longshore.node.preparing.volumes import making as made
from longshore.node.preparing.volumes.shared_directories import Shared
from longshore.node.runtime import Container, Key, Limits, Mount, Rights

_RENEWAL_SECONDS: Final = 60.0
_UID: Final = re.compile("[A-Za-z0-9][A-Za-z0-9-]*")
_SHELL: Final = ("sh",)
"""The command of an ephemeral container that has none: images for debugging start a shell."""
_OPTIONAL_MOUNTS: Final = ("/etc/volcano", account_volume.TARGET)
"""Mounts that are left out if nothing can be mounted: variables have the same content."""

log = logging.getLogger(__name__)


class Preparer:
    """Prepares pods and containers, keeps their files current, and removes them."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        root: Path,
        server: Server | None,
        node: NodeFacts,
        in_thread: InThread,
        can_mount: Callable[[], Awaitable[bool]] | None = None,
        strongest_walls: Callable[[], Awaitable[str]] | None = None,
        images: ImagesFile | None = None,
    ) -> None:
        """`can_mount` says whether the process runtime can mount anything, `strongest_walls` its strongest
        level of isolation; both are called once, with the first pod. `images` is that runtime's image table,
        by default the built-in one."""
        self._client = client
        self._clock, self._in_thread = clock, in_thread
        self._root, self._root_text = root, str(root)
        self._logs = f"{root.parent}/logs"
        self._node = node
        self._items = node.data_directory / "items" if node.data_directory is not None else None
        self._memory = emptydir.memory_root(node.memory_directory, root)
        self._can_mount, self._strongest_walls = can_mount, strongest_walls
        self._strongest = "none"
        self._mounting = True
        self._pods_are_known = False
        """Whether all running pods were found again. Until then any file may belong to one of them."""
        self._has_accounts = server is not None
        self._accounts = Accounts(
            client, clock, Tokens(client, clock), root / ".accounts", server.ca_pem if server else None
        )
        self._hosts = hosts_files.Hosts(root, root / ".hosts")
        self._shared = Shared(root / ".shared")
        self._server_env = container_env.of_server(server) if server else {}
        self._services: Informer | None = None
        self._images = image_meaning.ImageMeanings(images or ImagesFile(), root / ".applets", in_thread)

    async def run(self, informers: Informers) -> None:
        """Renews tokens and follows Services, whose addresses pods get as variables, until cancelled."""
        self._services = informers.get(kinds.SERVICES)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._services.run())
            while True:
                await self._clock.sleep(_RENEWAL_SECONDS)
                await self._accounts.renew()
                for step in (self._shared.sweep, self._hosts.settle) if self._pods_are_known else ():
                    try:
                        step()
                    except (OSError, file_trees.Mounted) as err:  # tried again in a minute
                        log.warning("files that pods share could not be renewed: %s", err)

    def at_once(self, pod: Obj) -> PreparedPod | None:
        """The result of `pod` for a pod without volumes and references, if no request is needed."""
        meta, spec = pod["metadata"], pod["spec"]
        if (
            self._can_mount is not None
            or self._strongest_walls is not None
            or account_volume.others(spec)
            or referenced.of_environment(spec)
            or (self._is_process(pod) and not self._images.are_ready(spec))
        ):
            return None
        prepared = PreparedPod(meta["uid"])
        if self._wants_account(pod):
            ready = self._accounts.ready(meta["namespace"], _account_name(spec))
            if ready is None:
                return None
            _mount_account(prepared, spec, ready)
        prepared.warnings = security.warnings(pod, self._node, strongest=self._strongest)
        return prepared

    async def pod(self, pod: Obj) -> PreparedPod:
        """Makes the pod's volumes. May be called again at any time, and keeps what is there.

        Raises NotReady while something is missing."""
        meta, spec = pod["metadata"], pod["spec"]
        volumes = account_volume.others(spec)
        prepared = PreparedPod(meta["uid"])
        self._hosts.hold(meta["uid"])
        if volumes:
            self._volumes(pod).hold_shared()  # in any case: a running container may have them mounted
        if self._can_mount is not None:
            self._mounting, self._can_mount = await self._can_mount(), None
        if self._strongest_walls is not None:
            self._strongest, self._strongest_walls = await self._strongest_walls(), None
        if self._is_process(pod):
            await self._images.ready(spec)
        if self._wants_account(pod):
            _mount_account(prepared, spec, await self._account(pod))
        if refs := referenced.of_environment(spec):
            prepared.sources = referenced.Sources(meta["namespace"], refs)
            await prepared.sources.read(self._client)
        if volumes:
            prepared.follows = any(made.follows(volume) for volume in volumes)
            prepared.volumes |= await self._volumes(pod).make(await self._contents(pod))
        if spec.get("subdomain") and (address := (pod.get("status") or {}).get("podIP")):
            self._hosts.file(pod, address)  # its peers know it after a restart
        prepared.warnings = security.warnings(pod, self._node, strongest=self._strongest)
        return prepared

    def container(self, prepared: PreparedPod, pod: Obj, spec: Obj, attempt: int, pod_ip: str) -> Container:
        """The container as the runtime starts it for the `attempt`-th time, counted from 0.

        Raises CannotPrepare; where a ConfigMap or Secret is missing, `refresh` looks for it again."""
        meta, pod_spec = pod["metadata"], pod["spec"]
        uid, namespace, name = prepared.uid, meta["namespace"], spec["name"]
        get = spec.get
        is_process = self._is_process(pod)
        found = items.added(pod, self._service_variables(pod_spec, namespace), self._items)
        env: Mapping[str, str] = found
        room = Room()
        if get("env") or get("envFrom"):
            env = container_env.resolve(spec, pod, prepared.sources, self._node, pod_ip, found, room)
        if hosts_files.asks_for_names(pod_spec) and not self._mounts_for(pod):
            env = {**env, hosts_files.VARIABLE: self._hosts.file(pod, pod_ip)}
        value_of = from_maps(env)
        command = container_env.expand_all(get("command"), value_of, room, "command")
        args = container_env.expand_all(get("args"), value_of, room, "args")
        mounts = self._mounts(prepared, pod, spec, env, pod_ip)
        tools, walls = image_meaning.NO_TOOLS, None
        if is_process:
            entry = self._images.entry(get("image") or "")
            if entry is not None:
                command = command or image_meaning.command_of(entry, args)
                if not get("targetContainerName"):  # otherwise the container sees its target's files
                    tools = self._images.tools(entry, mounting=self._mounting)
                    mounts += tools.mounts
            if not command and not args:
                if not _is_ephemeral(pod_spec, name):
                    raise self._images.unknown(name, get("image") or "")
                command = _SHELL
        identity = security.identity(spec, pod, self._node)
        if is_process:
            walls = isolation.walls(spec, pod, self._node, self._strongest)
        hostname = hosts_files.hostname_of(pod)
        variables = tuple(env.items())
        return Container(
            Key(uid, name, attempt),
            namespace,
            meta["name"],
            get("image") or "",
            get("imagePullPolicy") or "IfNotPresent",
            command,
            args,
            variables if "HOSTNAME" in env else (("HOSTNAME", hostname), *variables),
            get("workingDir") or "",
            mounts,
            hostname if not is_process or _names_itself(pod_spec) else "",
            identity.user,
            identity.group,
            identity.groups,
            _limits(spec, pod_spec),
            identity.read_only_root,
            log=f"{self._logs}/{namespace}_{meta['name']}_{uid}/{name}/{attempt}.log",
            whole_log=(annotations := meta.get("annotations") or {}).get(own_names.WHOLE_LOGS) == "true",
            separate_streams=annotations.get(own_names.SEPARATE_STREAMS) == "true",
            termination_message=f"{self._root_text}/{uid}/containers/{name}/{attempt}",
            termination_path=get("terminationMessagePath") or "/dev/termination-log",
            stdin=bool(get("stdin")),
            stdin_once=bool(get("stdinOnce")),
            tty=bool(get("tty")),
            path=tools.path,
            walls=walls,
            rights=Rights() if is_process else security.rights(spec, pod),
        )

    async def refresh(self, prepared: PreparedPod, pod: Obj) -> None:
        """Reads again what the pod refers to, and renews the files that come from it, all at once.

        Raises NotReady if something is missing now; the old files stay."""
        if prepared.account:
            await self._account(pod)
        if prepared.sources is not None:
            await prepared.sources.read(self._client)
        if prepared.follows:
            await self._volumes(pod).follow(await self._contents(pod))

    def stopped(self, pod_uid: str) -> None:
        """Frees the /etc/hosts of a pod that has ended for good."""
        self._hosts.stopped(pod_uid)

    async def remove(self, pod_uid: str) -> None:
        """Removes all files of the pod. Raises `file_trees.Mounted` if something is mounted there."""
        if not _UID.fullmatch(pod_uid):
            raise ValueError(f"{pod_uid!r} is no pod's uid")
        if self._node.by_image is not None:
            self._node.by_image.forget(pod_uid)
        self._hosts.remove(pod_uid)
        self._shared.remove(pod_uid)
        for top in self._directories_of(pod_uid):
            if (top / "containers").is_dir() and not (top / "volumes").is_dir():
                file_trees.remove_tree(top)  # a few small files; a thread would cost more
            else:
                await self._in_thread(file_trees.remove_tree, top)
            if top.parent == self._memory:
                emptydir.leave(self._memory)

    def _directories_of(self, pod_uid: str) -> list[Path]:
        roots = (self._root, self._memory)
        return [root / pod_uid for root in roots if os.path.isdir(f"{root}/{pod_uid}")]

    async def known(self) -> set[str]:
        """The uids of pods that have something on disk. Called when the pods of this node are known; also
        removes volumes in memory of longshores whose directory is gone."""
        self._pods_are_known = True
        found: set[str] = set()
        await self._in_thread(emptydir.sweep, self._node.memory_directory)
        for top in (self._root, self._memory):
            try:
                found.update(name for name in os.listdir(top) if _UID.fullmatch(name))
            except FileNotFoundError:
                continue
        return found

    def _wants_account(self, pod: Obj) -> bool:
        return (
            self._has_accounts
            and pod["spec"].get("automountServiceAccountToken") is not False
            and self._mounts_for(pod)
        )

    async def _account(self, pod: Obj) -> Ready:
        namespace = pod["metadata"]["namespace"]
        name = _account_name(pod["spec"])
        return self._accounts.ready(namespace, name) or await self._accounts.prepare(namespace, name)

    async def _contents(self, pod: Obj) -> referenced.Sources:
        found = referenced.Sources(pod["metadata"]["namespace"], referenced.of_volumes(pod["spec"]))
        await found.read(self._client)
        return found

    def _volumes(self, pod: Obj) -> made.Volumes:
        async def token(audience: str, seconds: int) -> str:
            return await self._accounts.token((await self._account(pod)).account, audience, seconds)

        uid = pod["metadata"]["uid"]
        return made.Volumes(
            self._client,
            self._node,
            pod,
            disk=self._root / uid / "volumes",
            memory=self._memory / uid / "volumes",
            shared=self._shared,
            token=token,
            in_thread=self._in_thread,
        )

    def _mounts(
        self, prepared: PreparedPod, pod: Obj, spec: Obj, env: Mapping[str, str], pod_ip: str
    ) -> tuple[Mount, ...]:
        asked = spec.get("volumeMounts")
        if asked and (own := account_volume.name_in(pod["spec"])) and own not in prepared.volumes:
            asked = [mount for mount in asked if mount["name"] != own]  # there are no accounts here
            spec = {**spec, "volumeMounts": asked}
        if not asked and spec.get("targetContainerName") and self._is_process(pod):
            return ()  # it sees the files of its target
        if not self._mounts_for(pod):
            if all(mount["mountPath"] in _OPTIONAL_MOUNTS for mount in asked or ()):
                return ()
            text = "volumes cannot be mounted here: longshore may neither mount nor make user namespaces"
            raise CannotPrepare("CreateContainerConfigError", f"{text}; {isolation.way_out()}")
        result = mounts.of_container(spec, prepared, env)
        targets = {os.path.normpath(mount.target) for mount in result}
        if account_volume.TARGET not in targets:
            result += prepared.account
        if hosts_files.TARGET not in targets:
            result += (Mount(self._hosts.file(pod, pod_ip), hosts_files.TARGET),)
        return result

    def _mounts_for(self, pod: Obj) -> bool:
        return self._mounting or not self._is_process(pod)

    def _is_process(self, pod: Obj) -> bool:
        return security.runtime_of(pod, self._node) == "process"

    def _service_variables(self, pod_spec: Obj, namespace: str) -> Mapping[str, str]:
        if self._services is None or pod_spec.get("enableServiceLinks") is False:
            return self._server_env
        near = [
            service
            for service in self._services.cache
            if service["metadata"]["namespace"] == namespace and service["metadata"]["name"] != "kubernetes"
        ]
        return {**self._server_env, **container_env.of_services(near)} if near else self._server_env


def _is_ephemeral(pod_spec: Obj, name: str) -> bool:
    return any(container["name"] == name for container in pod_spec.get("ephemeralContainers") or ())


def _names_itself(pod_spec: Obj) -> bool:
    """Whether the pod asks for a host name. Other pods of the process runtime keep the machine's: a namespace
    for each pod would cost more than most pods do."""
    return bool(pod_spec.get("hostname") or pod_spec.get("subdomain") or pod_spec.get("hostnameOverride"))


def _account_name(spec: Obj) -> str:
    return spec.get("serviceAccountName") or "default"


def _mount_account(prepared: PreparedPod, spec: Obj, ready: Ready) -> None:
    """Mounts the files of its account into a pod, unless the pod or the account refuses that."""
    name = account_volume.name_in(spec)
    if ready.mounts and (name or spec.get("automountServiceAccountToken") or ready.automount):
        prepared.account = ready.mounts
        if name:
            prepared.volumes[name] = Volume(ready.mounts[0].source, read_only=True)


def _limits(spec: Obj, pod_spec: Obj) -> Limits:
    """The container's own limits, or the pod's for resources of which the container has none."""
    resources = spec.get("resources")
    whole = pod_spec.get("resources")
    if not resources and not whole:
        return Limits()
    limits = {**((whole or {}).get("limits") or {}), **((resources or {}).get("limits") or {})}
    requests = (resources or {}).get("requests") or {}
    return _in_numbers(limits.get("cpu"), requests.get("cpu"), limits.get("memory"))


@lru_cache(maxsize=1024)
def _in_numbers(cpu: str | None, request: str | None, memory: str | None) -> Limits:
    return Limits(
        cpu_millis=_positive(None if cpu is None else quantity.milli_value(cpu)),
        cpu_request_millis=_positive(None if request is None else quantity.milli_value(request)),
        memory=_positive(None if memory is None else quantity.value(memory)),
    )


def _positive(amount: int | None) -> int | None:
    """A limit of zero is none, as for every container runtime."""
    return amount or None
