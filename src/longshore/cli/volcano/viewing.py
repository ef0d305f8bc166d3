"""One Volcano Job in full: its spec, status and events."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from longshore.api import gotext
from longshore.api.time import ages
from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import BATCH, Wrong

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

_NO_TIME: Final = "0001-01-01 00:00:00 +0000 UTC"
_MANDATORY: Final = "job name (specified by --name or -N) is mandatory to view a particular job"
_COUNTS: Final = (
    ("Succeeded:    ", "succeeded"),
    ("Pending:      ", "pending"),
    ("Running:      ", "running"),
    ("Failed:       ", "failed"),
    ("Terminating:  ", "terminating"),
    ("Unknown:      ", "unknown"),
    ("RetryCount:   ", "retryCount"),
    ("Min Available:", "minAvailable"),
    ("Version:      ", "version"),
)
_NOTES: Final = (
    ("Cri . Cci . Io / Container - Type:          ", "cri.cci.io/container-type"),
    ("Kubernetes . Io / Availablezone:            ", "kubernetes.io/availablezone"),
    ("Network . Alpha . Kubernetes . Io / Network:", "network.alpha.kubernetes.io/network"),
)
"""Annotations that vcctl shows, even if they are missing."""


def view(server: Server, arguments: Namespace) -> str:
    if not arguments.name:
        raise Wrong(_MANDATORY)
    job = server.json("GET", vcctl.path(BATCH, "jobs", server.namespace, arguments.name))
    events = vcctl.listed(server, "/api/v1", "events", server.namespace)
    own = [event for event in events if event["metadata"]["name"].startswith(f"{arguments.name}.")]
    now = datetime.now(UTC)
    return "\n".join([*described(job), *events_table(own, now)])


def described(job: Obj) -> Iterator[str]:
    """The Job, line by line."""
    meta = job["metadata"]
    yield f"Name:       \t{meta['name']}"
    yield f"Namespace:  \t{meta['namespace']}"
    yield f"Labels:     \t{_pairs(meta.get('labels'))}"
    yield f"Annotations:\t{_pairs(meta.get('annotations'))}"
    yield f"API Version:\t{job['apiVersion']}"
    yield f"Kind:       \t{job['kind']}"
    yield "Metadata:"
    yield f"  Creation Timestamp:\t{_time(meta['creationTimestamp'])}"
    yield f"  Generate Name:     \t{meta.get('generateName', '')}"
    yield f"  Generation:        \t{meta.get('generation', 0)}"
    yield f"  Resource Version:  \t{meta['resourceVersion']}"
    yield f"  UID:               \t{meta['uid']}"
    yield from _spec(job.get("spec") or {})
    yield from _status(job.get("status") or {})


def _spec(spec: Obj) -> Iterator[str]:
    plugins = spec.get("plugins") or {}
    yield "Spec:"
    yield f"  Min Available:     \t{spec.get('minAvailable', 0)}"
    yield "  Plugins:"
    yield f"    Env:\t{gotext.plain(plugins.get('env') or [])}"
    yield f"    Ssh:\t{gotext.plain(plugins.get('ssh') or [])}"
    yield f"  Scheduler Name:    \t{spec.get('schedulerName', '')}"
    yield "  Tasks:"
    for task in spec.get("tasks") or ():
        yield f"    Name:\t{task.get('name', '')}"
        yield f"    Replicas:\t{task.get('replicas', 0)}"
        yield "    Template:"
        yield from _template(task.get("template") or {})


def _template(template: Obj) -> Iterator[str]:
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    notes = meta.get("annotations") or {}
    yield "      Metadata:"
    yield "        Annotations:"
    for title, key in _NOTES:
        yield f"          {title}\t{notes.get(key, '')}"
    yield f"        Creation Timestamp:\t{_NO_TIME}"
    yield "      Spec:"
    yield "        Containers:"
    for container in spec.get("containers") or ():
        yield from _container(container)
    yield "        Image Pull Secrets:"
    for secret in spec.get("imagePullSecrets") or ():
        yield f"          Name:     \t{secret.get('name', '')}"
    yield f"        Restart Policy:   \t{spec.get('restartPolicy', '')}"


def _container(container: Obj) -> Iterator[str]:
    resources = container.get("resources") or {}
    yield "          Command:"
    for word in container.get("command") or ():
        yield f"            {word}"
    yield f"          Image:\t{container.get('image', '')}"
    yield f"          Name: \t{container['name']}"
    yield "          Ports:"
    for port in container.get("ports") or ():
        yield f"            Container Port:\t{port['containerPort']}"
        yield f"            Name:          \t{port.get('name', '')}"
    yield "          Resources:"
    for title, key in (("Limits", "limits"), ("Requests", "requests")):
        amounts = resources.get(key) or {}
        yield f"            {title}:"
        yield f"              Cpu:   \t{amounts.get('cpu', '0')}"
        yield f"              Memory:\t{amounts.get('memory', '0')}"
    yield f"            Working Dir:\t{container.get('workingDir', '')}"


def _status(status: Obj) -> Iterator[str]:
    yield "Status:"
    for title, key in _COUNTS:
        if status.get(key):
            yield f"  {title}\t{status[key]}"
    yield "  State:"
    yield f"    Phase:\t{(status.get('state') or {}).get('phase', '')}"
    if controlled := status.get("controlledResources"):
        yield "  Controlled Resources:"
        for key in sorted(controlled):
            yield f"    {key}: \t{controlled[key]}"
    if conditions := status.get("conditions"):
        yield "  Conditions:"
        yield "    Status\tTransitionTime"
        for condition in conditions:
            yield f"    {condition['status']} \t{_time(condition.get('lastTransitionTime'))} "


def events_table(events: list[Obj], now: datetime) -> Iterator[str]:
    """The events, as a table with tabs between its columns."""
    if not events:
        yield "Events: \t<none>"
        return
    yield "Events:"
    yield _event(("Type", "Reason", "Age", "Form", "Message"))
    yield _event(("-------",) * 5)
    for event in events:
        last, first = (ages.age(event.get(key), now) for key in ("lastTimestamp", "firstTimestamp"))
        count = event.get("count") or 1
        age = f"{last} (x{count} over {first})" if count > 1 else first
        source = event.get("source") or {}
        who = ", ".join(part for part in (source.get("component", ""), source.get("host", "")) if part)
        yield _event(
            (event.get("type", ""), event.get("reason", ""), age, who, (event.get("message") or "").strip())
        )


def _event(cells: tuple[Any, ...]) -> str:
    kind, reason, age, source, message = cells
    return f"{kind:<15}\t{reason:<40}\t{age:<30}\t{source:<40}\t{message}"


def _pairs(found: Obj | None) -> str:
    return json.dumps(found, sort_keys=True, separators=(",", ":")) if found else "<none>"


def _time(text: str | None) -> str:
    """A time in Go's format, in this machine's zone."""
    moment = ages.moment(text)
    return _NO_TIME if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M:%S %z %Z}"
