"""The pods behind a name: the pod itself, or the pods of a Job or of any other object that selects pods."""

from __future__ import annotations

import sys

from longshore.api.selectors import labels
from longshore.api.selectors.grammar import Requirement
from longshore.api.types import Obj
from longshore.cli.arguments import kinds, targets
from longshore.cli.main import Said
from longshore.cli.server.requests import Server, escaped

_DEFAULT = "kubectl.kubernetes.io/default-container"
_POD_WAIT_SECONDS = 20.0
"""Seconds that kubectl waits for a first pod."""


def one(server: Server, word: str, seconds: float = _POD_WAIT_SECONDS) -> Obj:
    """The pod of this name. If it names several pods, the most informative one, with a note."""
    found = named(server, word, seconds)
    if not found:
        raise Said("error: timed out waiting for the condition")
    first = min(found, key=_rank)
    if len(found) > 1:
        print(f"Found {len(found)} pods, using pod/{first['metadata']['name']}", file=sys.stderr)
    return first


def named(server: Server, word: str, seconds: float = _POD_WAIT_SECONDS) -> list[Obj]:
    """All pods behind `NAME` or `TYPE/NAME`; waits for the first pod if there is none yet."""
    if "/" not in word or word.startswith(("pod/", "pods/", "po/")):
        name = word.rpartition("/")[2]
        if not name:
            raise Said("error: resource name may not be empty", 2)
        return [server.json("GET", f"/api/v1/namespaces/{server.namespace}/pods/{escaped(name)}")]
    selector = selecting(server, word)
    return matching(server, selector) or _awaited(server, selector, seconds)


def selecting(server: Server, word: str) -> str:
    """The label selector of the pods of `TYPE/NAME`."""
    (target,) = targets.parse(kinds.discover(server), [word], server.namespace)
    owner = server.json("GET", target.path)
    if (target.kind.group, target.kind.kind) == ("batch.volcano.sh", "Job"):
        return f"volcano.sh/job-name={owner['metadata']['name']}"
    given = (owner.get("spec") or {}).get("selector") or {}
    if not given.keys() & {"matchLabels", "matchExpressions"}:  # of a Service, the labels themselves
        given = {"matchLabels": {key: value for key, value in given.items() if isinstance(value, str)}}
    selector = ",".join(_text(each) for each in labels.from_unchecked(given).requirements)
    if not selector:
        raise Said(f"error: cannot find the pods of a {target.kind.kind}: it selects none", 2)
    return selector


def _text(each: Requirement) -> str:
    """A requirement as a query parameter spells it."""
    if each.values:
        return f"{each.key} {each.operator} ({','.join(each.values)})"
    return f"!{each.key}" if each.operator == "!" else each.key


def matching(server: Server, selector: str) -> list[Obj]:
    path = f"/api/v1/namespaces/{server.namespace}/pods"
    items: list[Obj] = server.json("GET", path, query={"labelSelector": selector})["items"]
    return items


def container(pod: Obj, asked: str) -> str:
    """The container of this name; without a name, the first container, with a note if there are more."""
    meta, spec = pod["metadata"], pod["spec"]
    inits = [each["name"] for each in spec.get("initContainers") or ()]
    plain = [each["name"] for each in spec.get("containers") or ()]
    ephemeral = [each["name"] for each in spec.get("ephemeralContainers") or ()]
    if asked:
        if asked not in inits + plain + ephemeral:
            raise Said(f"error: container {asked} is not valid for pod {meta['name']}")
        return asked
    chosen: str = (meta.get("annotations") or {}).get(_DEFAULT, "")
    if chosen in plain:
        return chosen
    if len(plain) + len(inits) + len(ephemeral) > 1:
        marked = [f"{name} (ephem)" for name in ephemeral] + [f"{name} (init)" for name in inits]
        others = ", ".join(plain + marked)
        print(f'Defaulted container "{plain[0]}" out of: {others}', file=sys.stderr)
    return str(plain[0])


def _awaited(server: Server, selector: str, seconds: float) -> list[Obj]:
    from longshore.cli.server import wait_for
    from longshore.client.errors import TimedOut

    path = f"/api/v1/namespaces/{server.namespace}/pods"
    query, until = {"labelSelector": selector}, wait_for.deadline(seconds)
    try:
        for type, pod in wait_for.existing_and_changes(server, path, query, until=until):
            if type != wait_for.LISTED:
                return [pod]
    except TimedOut:
        pass
    return []


def _rank(pod: Obj) -> tuple[bool, bool, bool, str]:
    """A sort key that puts the most informative pod first: scheduled, started, running; then the oldest."""
    status = pod.get("status") or {}
    return (
        not pod["spec"].get("nodeName"),
        status.get("phase") in (None, "Pending"),
        status.get("phase") != "Running",
        pod["metadata"].get("creationTimestamp", ""),
    )
