"""Helpers of several plugins: addresses of pods, environment, ports, objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.pods.building import own_list
from longshore.controllers.volcano.names import TASK_INDEX, TASK_SPEC, pod_name
from longshore.controllers.volcano.plugins.protocol import PluginError

_MAX_OBJECT_BYTES: Final = 1 << 20
"""The size limit of a ConfigMap or a Secret."""
_MAX_VARIABLE_BYTES: Final = 1 << 17
"""Linux' limit for one environment variable."""


def host(job: Obj, task: Obj, index: int) -> tuple[str, str]:
    """Returns host name and subdomain of the task's pod at `index`."""
    spec, name = task["template"]["spec"], job["metadata"]["name"]
    return spec.get("hostname") or pod_name(name, task["name"], index), spec.get("subdomain") or name


def address(job: Obj, task: Obj, index: int) -> str:
    return ".".join(host(job, task, index))


def addresses(job: Obj, task: Obj) -> Sequence[str]:
    """Returns the addresses of all pods of the task. A host name in the template is common to all pods and is
    listed once. Raises PluginError if they exceed the size of an object."""
    return _addresses(job, task, listed(job, task), "")


def listed(job: Obj, task: Obj) -> int:
    """Returns the number of `addresses`. Raises PluginError if they exceed the size of an object."""
    count = tasks.replicas(task)
    if task["template"]["spec"].get("hostname"):
        count = min(count, 1)
    return _checked(job, task, count, _MAX_OBJECT_BYTES)


def endpoints(job: Obj, task: Obj, port: int) -> Sequence[str]:
    """Returns address and port of each pod of the task. Raises PluginError if a variable cannot hold them."""
    count = _checked(job, task, tasks.replicas(task), _MAX_VARIABLE_BYTES)
    return _addresses(job, task, count, f":{port}")


def _checked(job: Obj, task: Obj, count: int, most: int) -> int:
    if count * len(address(job, task, 0)) > most:
        raise PluginError(f"the addresses of {count} pods of task {task['name']} take more than {most} bytes")
    return count


def _addresses(job: Obj, task: Obj, count: int, end: str) -> Sequence[str]:
    if task["template"]["spec"].get("hostname"):
        return [address(job, task, 0) + end] * count
    return _numbered(job["metadata"]["name"], task["name"], host(job, task, 0)[1] + end, count)


@lru_cache(maxsize=4)
def _numbered(job: str, task: str, end: str, count: int) -> Sequence[str]:
    """Cached, since each pod of a task is made separately and gets the whole list."""
    return [f"{pod_name(job, task, index)}.{end}" for index in range(count)]


def task_of(pod: Obj) -> str:
    name: str = pod["metadata"]["annotations"][TASK_SPEC]
    return name


def index_of(pod: Obj) -> int:
    return int(pod["metadata"]["annotations"][TASK_INDEX])


def containers(pod: Obj, *, init: bool = False) -> Iterator[Obj]:
    """Yields the pod's containers; with `init`, its init containers first."""
    if init:
        yield from pod["spec"].get("initContainers") or ()
    yield from pod["spec"].get("containers") or ()


def add_env(container: Obj, variables: Iterable[Obj]) -> None:
    own_list(container, "env").extend(dict(variable) for variable in variables)


def env(name: str, value: Any) -> Obj:
    return {"name": name, "value": str(value)}


def open_port(container: Obj, name: str, number: int) -> None:
    """Adds the port unless the container already has this number."""
    ports = own_list(container, "ports")
    if all(port.get("containerPort") != number for port in ports):
        ports.append({"name": name, "containerPort": number})
    if not ports:
        del container["ports"]


def mount(pod: Obj, volume: Obj, path: str, **more: str) -> None:
    """Adds a volume and mounts it in every container of the pod."""
    own_list(pod["spec"], "volumes").append(volume)
    for container in containers(pod, init=True):
        own_list(container, "volumeMounts").append({"name": volume["name"], "mountPath": path, **more})


def once(obj: Obj) -> Any:
    """Returns a `Wanted.make` that creates the object if it is missing and never updates it."""
    return lambda existing: obj if existing is None else None
