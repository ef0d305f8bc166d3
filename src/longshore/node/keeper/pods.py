"""The shared namespaces of pods with several isolated containers (walls/pod_namespaces.py).

A pod has its namespaces from the start of its first container until the runtime removes the last one, in
whichever order they end. The journal has the process that holds the namespaces, for the keeper that takes
over when this one is killed. A keeper that exits because nothing runs ends them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from longshore.node.keeper import procfs
from longshore.node.keeper.container_records import ContainerRecord, ContainerRecords
from longshore.node.keeper.walls.namespaces import Namespaces
from longshore.node.keeper.walls.pod_namespaces import PodNamespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.frames import Spec


class Pods:
    def __init__(self, namespaces: Namespaces, records: ContainerRecords) -> None:
        self._namespaces, self._records = namespaces, records
        self._known: dict[str, tuple[PodNamespaces, set[str]]] = {}
        """The namespaces of each pod by uid, with the keys of its containers that the runtime knows."""

    def of(self, spec: Spec, running: Iterable[ContainerRecord]) -> PodNamespaces | None:
        """The namespaces that a container is to share: those of its pod, those of a `running` container of
        the pod that started alone, or new ones. None if the container has no walls or is alone in its pod.
        Raises OSError and Refused."""
        walls, key = spec.get("walls"), spec["key"]
        if walls is None or not (walls["siblings"] or spec.get("target")):
            return None
        uid = _uid(key)
        known = self._known.get(uid)
        if known is None:
            pod = _of_mates([entry for entry in running if _uid(entry.key) == uid])
            if pod is None:
                pod, pause = self._namespaces.new_pod(network=walls["no_network"])
                self._records.holds(uid, pause, procfs.start_ticks(pause))
            known = self._known[uid] = pod, set()
        known[1].add(key)
        return known[0]

    def recover(self, *, is_foreign: bool) -> None:
        """Takes over the namespaces that an earlier keeper made. Foreign ones are left alone."""
        known, self._records.pods = self._records.pods, {}
        if is_foreign:
            return
        entries: dict[str, list[ContainerRecord]] = {}
        for entry in self._records.entries.values():
            entries.setdefault(_uid(entry.key), []).append(entry)
        for uid, (pause, ticks) in known.items():
            pod = _adopted(pause, ticks, is_wanted=uid in entries)
            if pod is not None:
                for entry in entries[uid]:
                    pod.take_pid_namespace(entry)
                self._known[uid] = pod, {entry.key for entry in entries[uid]}
                self._records.pods[uid] = pause, ticks

    def forget(self, keys: Iterable[str]) -> None:
        """Removes containers that have no record any more from their pods."""
        for key in keys:
            uid = _uid(key)
            known = self._known.get(uid)
            if known is not None and key not in self._records.entries:
                pod, left = known
                left.discard(key)
                if not left:
                    pod.close()
                    del self._known[uid]
                    self._records.pods.pop(uid, None)

    def close(self) -> None:
        for pod, _ in self._known.values():
            pod.close()
        self._known = {}


def _uid(key: str) -> str:
    return key.partition("/")[0]


def _of_mates(mates: list[ContainerRecord]) -> PodNamespaces | None:
    for mate in mates:
        if mate.pid_namespace is None:
            continue
        try:
            pod = PodNamespaces(mate.pid, "/dev/shm")
        except OSError:
            continue  # the process has just ended
        pod.take_pid_namespace(mate)
        return pod
    return None


def _adopted(pause: int, ticks: int, *, is_wanted: bool) -> PodNamespaces | None:
    """The namespaces that an earlier keeper's process holds. The process is ended if it is not wanted, or if
    this keeper may not enter its user namespace."""
    try:
        pidfd = os.pidfd_open(pause)
    except OSError:
        return None
    if procfs.start_ticks(pause) != ticks:
        os.close(pidfd)
        return None
    try:
        pod = PodNamespaces(pause, "/") if is_wanted else None
    except OSError:
        pod = None
    if pod is None:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)
    else:
        pod.pause = pidfd
    return pod
