"""exec, attach, portforward and proxy: everything before the connection is upgraded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api import errors
from longshore.api.types import Obj
from longshore.apiserver.answer import LinkAnswer
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest.update import key_of
from longshore.apiserver.subresources import link
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.subresources.node_access import NodeDoor


def connect(api: Api, call: Call) -> LinkAnswer:
    """Checks the request as upstream does before it upgrades, then returns the link to connect."""
    if call.verb == "get":
        # A WebSocket begins with a GET, but a user that may only read must not run commands.
        api.authorizer.check(call, "create")
    pod = pod_of(api, call)
    container = ""
    if call.subresource in ("exec", "attach"):
        container = choose_container(pod, call.one("container"))
    if not (pod.get("spec") or {}).get("nodeName"):
        raise errors.bad_request(f"pod {call.name} does not have a host assigned")
    door = door_to(api, pod)
    if call.subresource == "proxy":
        raise errors.StatusError(
            503,
            "ServiceUnavailable",
            "longshore does not carry requests to pods; use port-forward, which carries whole connections",
        )
    if call.subresource == "portforward":
        return LinkAnswer(link.to_ports(door, pod, call))
    return LinkAnswer(link.to_container(door, pod, container, call))


def door_to(api: Api, pod: Obj) -> NodeDoor:
    """The door to the node of a pod; raises the reason if there is none."""
    door = api.door
    if door is None or door.node != pod["spec"]["nodeName"]:
        raise unreachable(api, pod)
    return door


def pod_of(api: Api, call: Call) -> Obj:
    entry = api.store.get(key_of(call))
    if entry is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    return entry.obj


def choose_container(pod: Obj, asked: str) -> str:
    """The container a request means: the named one, the annotated default, or the only one."""
    spec, name = pod.get("spec") or {}, pod["metadata"]["name"]
    main = [c["name"] for c in spec.get("containers") or ()]
    others = [c["name"] for part in ("initContainers", "ephemeralContainers") for c in spec.get(part) or ()]
    if asked:
        if asked in main or asked in others:
            return asked
        raise errors.bad_request(f"container {asked} is not valid for pod {name}")
    default = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    if default in main:
        return str(default)
    if len(main) == 1:
        return str(main[0])
    text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]"
    init = [c["name"] for c in spec.get("initContainers") or ()]
    if init:
        text += f" or one of the init containers: [{' '.join(init)}]"
    raise errors.bad_request(text)


def unreachable(api: Api, pod: Obj) -> errors.StatusError:
    """The error if a pod's node cannot be reached: it is unknown, or no process of this longshore runs it.

    It has no Retry-After: clients would wait and retry, and the user would see nothing for a minute.
    """
    node = pod["spec"]["nodeName"]
    if api.store.get(Key("nodes", "", node)) is None:
        return errors.not_found("", "nodes", node)
    return errors.StatusError(
        503,
        "ServiceUnavailable",
        f'no node "{node}" is connected to this longshore: pods are stored but not run here, '
        "so there is no log to read and no process to reach",
    )
