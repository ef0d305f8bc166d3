"""The question that the arguments of `longshore sim` ask. Raises ValueError or Failure for a bad one."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import yaml

from longshore.api import cron
from longshore.api.facts import job_state, volcano_job_state
from longshore.api.types import Obj
from longshore.cli.arguments import manifest_files
from longshore.cli.main import Failure
from longshore.scripts import annotated_pods, past_runs
from longshore.scripts.pod_rules import Rule
from longshore.sim import checks, variations
from longshore.sim.checks import Expectation
from longshore.sim.settings import (
    DAY_SECONDS,
    MAX_SECONDS,
    Outcomes,
    SimSettings,
    amounts,
    nodes,
    outcomes_of,
)
from longshore.sim.variations import Variant
from longshore.testing.troubles import Troubles
from longshore.up.local_zone import local_zone
from longshore.up.options import shortcuts_are_on

_CLUSTER: Final = (
    ("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"),
    ("v1", "ResourceQuota", "resourcequotas"),
    ("v1", "LimitRange", "limitranges"),
    ("v1", "Node", "nodes"),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("scheduling.volcano.sh/v1beta1", "Queue", "queues"),
    ("batch/v1", "CronJob", "cronjobs"),
    ("batch/v1", "Job", "jobs"),
    ("batch.volcano.sh/v1alpha1", "CronJob", "cronjobs"),
    ("batch.volcano.sh/v1alpha1", "Job", "jobs"),
    ("flow.volcano.sh/v1alpha1", "JobTemplate", "jobtemplates"),
    ("flow.volcano.sh/v1alpha1", "JobFlow", "jobflows"),
)
"""The kinds that are read from a server."""
_THERE: Final = frozenset(
    (
        ("PriorityClass", "system-cluster-critical"),
        ("PriorityClass", "system-node-critical"),
        ("Queue", "default"),
        ("Queue", "root"),
    )
)
"""Kinds and names of objects that every plane creates at its start."""
_FIRST_YEAR: Final = 1971
_LAST_YEAR: Final = 9980
"""The last year of a start, so that the longest simulation stays within the calendar in every zone."""
_STATES: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Prefixes of taints for a node's passing state, which are dropped: simulated nodes are healthy."""


class Question(NamedTuple):
    variants: list[Variant]
    start: datetime
    zone: str
    length: float
    until_done: bool
    rules: Sequence[Rule]
    named: Sequence[Rule]
    troubles: Troubles
    expect: tuple[Expectation, ...]
    windows: tuple[Expectation, ...]

    def settings(self, variant: Variant, seed: int) -> SimSettings:
        return SimSettings(
            objects=variant.objects,
            start=self.start,
            zone=self.zone,
            seconds=self.length,
            until_done=self.until_done,
            seed=seed,
            nodes=variant.nodes,
            rules=self.rules,
            named=self.named,
            troubles=self.troubles,
            windows=self.windows,
            shortcuts=shortcuts_are_on(os.environ),
        )


def read(arguments: Namespace) -> Question:
    objects = [each.obj for each in manifest_files.read(arguments.files)]
    if arguments.from_cluster:
        objects += _from_cluster(arguments)
    if not objects:
        raise Failure("give manifests, or --from-cluster\nsee: longshore sim --help", 2)
    variants = [*variations.variants(objects, [variations.change(text) for text in arguments.changes])]
    for obj in (obj for variant in variants for obj in variant.objects):
        annotated_pods.spread(obj)
    here = local_zone().name  # a machine whose zone has no name counts as UTC: the same everywhere
    zone = arguments.zone or ("UTC" if here == "Local" else here)
    try:
        cron.load(zone)
    except cron.UnknownZone as err:
        raise Failure(f"--zone: {err}", 2) from None
    repeats = any(obj["kind"] == "CronJob" for obj in objects)
    start = _start(arguments.start, zone).astimezone(ZoneInfo(zone))
    outcomes = Outcomes()
    if arguments.outcomes:
        try:
            outcomes = outcomes_of(_yaml(arguments.outcomes), start)
            checks.check_names(outcomes.expect, objects)
        except ValueError as err:
            raise Failure(f"--outcomes {arguments.outcomes}: {err}", 2) from None
    rules = list(outcomes.rules)
    if arguments.outcomes_from:
        try:
            rules = [*past_runs.rules(_items(arguments.outcomes_from), objects), *rules]
        except ValueError as err:
            raise Failure(f"--outcomes-from {arguments.outcomes_from}: {err}", 2) from None
    length = _length(arguments, start)
    by_clock = {"*": f"done before {arguments.until}"} if arguments.until not in ("", "done") else {}
    has, counts = amounts(arguments.node), arguments.nodes or [1]
    if len(counts) > 1 and any(obj["kind"] == "Node" for obj in objects):
        raise Failure("--nodes: the manifests have nodes of their own, which are used in each run", 2)
    if len(counts) > 1:
        variants = [each.on(nodes(count, has)) for each in variants for count in counts]
    else:
        variants = [each._replace(nodes=nodes(counts[0], has)) for each in variants]
    return Question(
        variants=variants,
        start=start,
        zone=zone,
        length=length or (DAY_SECONDS if repeats else MAX_SECONDS),
        until_done=arguments.until == "done" or not length,
        rules=rules,
        named=outcomes.named,
        troubles=outcomes.troubles,
        expect=outcomes.expect,
        windows=outcomes.expect if not by_clock else (*outcomes.expect, *checks.expectations(by_clock)),
    )


def _length(arguments: Namespace, start: datetime) -> float:
    """The seconds that --for or --until asks for; 0 if neither gives an end."""
    if arguments.until in ("", "done"):
        return arguments.length or 0.0
    if arguments.length:
        raise Failure(f"--for and --until {arguments.until} are two ends: give one of them", 2)
    try:
        return checks.seconds_until(arguments.until, start)
    except ValueError as err:
        raise Failure(f"--until: {err}, nor done", 2) from None


def _start(text: str, zone: str) -> datetime:
    there = ZoneInfo(zone)
    if text:
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise Failure(f"--start {text!r} is no time: write 2027-03-27T00:00", 2) from None
        if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
            raise Failure(f"--start {text!r} is not in the years {_FIRST_YEAR} to {_LAST_YEAR}", 2)
        whole = found.replace(microsecond=0)  # as all times of Kubernetes are
        return whole if whole.tzinfo is not None else whole.replace(tzinfo=there)
    today = datetime.now(UTC).astimezone(there).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=1)


def _yaml(name: str) -> Any:
    try:
        return yaml.safe_load(Path(name).read_text())
    except OSError as err:
        raise Failure(f"cannot read {name}: {err.strerror}", 2) from None
    except (UnicodeDecodeError, yaml.YAMLError) as err:
        raise Failure(f"{name} is not YAML: {err}", 2) from None
    except RecursionError:
        raise Failure(f"{name} is nested too deeply", 2) from None


def _items(name: str) -> list[Obj]:
    try:
        found = json.loads(Path(name).read_text())
    except OSError as err:
        raise Failure(f"cannot read {name}: {err.strerror}", 2) from None
    except ValueError:
        raise Failure(f"{name} is not JSON: write it with longshore history -o json", 2) from None
    except RecursionError:
        raise Failure(f"{name} is nested too deeply", 2) from None
    items = found.get("items") if isinstance(found, dict) else found
    if not isinstance(items, list):
        raise Failure(f"{name} has no list of items: write it with longshore history -o json", 2)
    return items


def _from_cluster(arguments: Namespace) -> list[Obj]:
    """Reads the objects of a server as people created them: without status, objects that controllers made, or
    work that has ended."""
    from contextlib import closing

    from longshore.cli.server import connecting, refusals, requests

    found: list[Obj] = []
    with refusals.as_failure(), closing(connecting.server(arguments)) as server:
        for version, kind, plural in _CLUSTER:
            path = f"/api/{version}" if version == "v1" else f"/apis/{version}"
            answer = server.request("GET", f"{path}/{plural}")
            if answer.code == 404:  # a cluster without Volcano
                continue
            if answer.code >= 400:
                said = refusals.text(requests.refusal(answer))
                raise Failure(f"--from-cluster cannot read {plural}: {said}", 2)
            for item in json.loads(answer.body).get("items") or ():
                owned = any(ref.get("controller") for ref in item["metadata"].get("ownerReferences") or ())
                is_there = (kind, item["metadata"]["name"]) in _THERE
                if not owned and not is_there and not _has_ended(item, version, kind):
                    found.append(_asked_for(item, version, kind))
    return found


def _has_ended(item: Obj, version: str, kind: str) -> bool:
    """Whether it is a Job, of Kubernetes or Volcano, that has ended."""
    facts = job_state if version == "batch/v1" else volcano_job_state
    return kind == "Job" and facts.has_ended(item)


def _asked_for(item: Obj, version: str, kind: str) -> Obj:
    meta = {
        k: item["metadata"][k]
        for k in ("name", "namespace", "labels", "annotations", "uid")
        if k in item["metadata"]
    }
    spec = _asked_spec(item.get("spec") or {}, kind)
    made: Obj = {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
    if kind == "Job" and "template" in spec:
        labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        kept = {k: v for k, v in labels.items() if "controller-uid" not in k and "job-name" not in k}
        spec["template"] = {
            **spec["template"],
            "metadata": {**(spec["template"].get("metadata") or {}), "labels": kept},
        }
    if kind == "Node":
        made["status"] = {k: (item.get("status") or {}).get(k) or {} for k in ("allocatable", "capacity")}
    if kind == "PriorityClass":
        made |= {
            k: item[k] for k in ("value", "globalDefault", "description", "preemptionPolicy") if k in item
        }
        del made["spec"]
    return made


def _asked_spec(spec: Obj, kind: str) -> Obj:
    """A spec without the fields that a server fills in. A claim gets a new volume, which is never read."""
    match kind:
        case "Job":
            return {k: v for k, v in spec.items() if k != "selector"}
        case "Node":
            taints = [each for each in spec.get("taints") or () if not each["key"].startswith(_STATES)]
            kept = {k: v for k, v in spec.items() if k not in ("podCIDR", "podCIDRs", "taints")}
            return {**kept, "taints": taints} if taints else kept
        case "PersistentVolumeClaim":
            return {k: v for k, v in spec.items() if k in ("accessModes", "resources")}
    return dict(spec)
