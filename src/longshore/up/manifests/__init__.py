"""Manifests that run the controllers in a cluster: an account with the least rights, and a Deployment.

The texts are data beside this file: every object in `install.yaml`, the rights of each controller in
`rights.yaml`, webhooks in `webhooks.yaml`. The scheduler, if wanted, gets the same objects under its own
name. Volcano's resource definitions are a separate stream: they must be created before everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any, Final

import msgspec
import yaml

from longshore import __version__
from longshore.api.facts import own_names
from longshore.api.kinds import table, volcano
from longshore.api.resources import PrinterColumn, Resource
from longshore.api.types import Obj
from longshore.apiserver.tables.custom import VOLCANO
from longshore.machinery.sharding.division import By
from longshore.up.outside import settings

NAMESPACE: Final = "longshore-system"
IMAGE: Final = f"longshore:{__version__}"
_NARROW_ROLE: Final = "longshore-batch"
_CONTROLLERS, _SCHEDULER = "longshore-controllers", "longshore-scheduler"
_LEASES_OF_SHARDS: Final[list[Obj]] = [
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["create", "get", "list", "update"],
    }
]
"""Rules for Leases of shards, which are listed by their label."""
_VOLCANO: Final = """\
# Volcano's resource definitions must be there first, those of its release or longshore's own:
#   longshore manifests --crds | kubectl apply --server-side -f -
# Webhooks give Jobs their defaults: longshore's own (--webhooks), or Volcano's (volcano-admission), which may
# run beside longshore. volcano-controllers must not, nor volcano-scheduler beside longshore's own.
"""


class WantedInstallation(msgspec.Struct, frozen=True):
    """Where to install, from which image, and what is to run there."""

    namespace: str = NAMESPACE
    image: str = IMAGE
    controllers: tuple[str, ...] = settings.CONTROLLERS
    managed_by: str = own_names.JOB_CONTROLLER
    only: str = ""
    """The only namespace to work in; empty for all."""
    scheduler: bool = False
    """Whether longshore's scheduler runs there, too, for the gangs of all namespaces."""
    shards: int = 0
    """The number of shards, each with a replica; 0 for one working replica."""
    shard_by: By = "namespace"
    webhooks: bool = False
    """Whether the controllers serve Volcano's admission webhooks."""


def text(wanted: WantedInstallation) -> str:
    """The objects as one YAML stream, to be applied as it is."""
    volcano = wanted.scheduler or any(name.startswith("volcano-") for name in wanted.controllers)
    objects = _dumped(documents(wanted))
    return _VOLCANO + objects if volcano else objects


def definitions() -> str:
    """Volcano's resource definitions as one YAML stream."""
    return _dumped(definition_documents())


def documents(wanted: WantedInstallation) -> list[Obj]:
    """The objects, in the order in which they must be created."""
    made: list[Obj] = []
    for obj in yaml.safe_load_all(_read("install.yaml")):
        _move(obj, wanted.namespace)
        match obj["kind"]:
            case "Role":
                _own_rights(obj["rules"], wanted)
            case "ClusterRole":
                obj["rules"] = rules([*wanted.controllers, *(["webhooks"] if wanted.webhooks else [])])
            case "Deployment":
                if wanted.shards:
                    obj["spec"]["replicas"] = wanted.shards + 1
                _fill(obj["spec"]["template"]["spec"]["containers"][0], wanted)
        made += _narrowed(obj, wanted) if wanted.only else [obj]
    if wanted.webhooks:
        made += _webhooks(wanted.namespace)
    return made + _scheduler(wanted) if wanted.scheduler else made


def _own_rights(found: list[Obj], wanted: WantedInstallation) -> None:
    """Adds the rights to Leases and certificates."""
    if wanted.shards:
        found[:2] = _LEASES_OF_SHARDS
    elif wanted.webhooks:
        found[1]["resourceNames"].append(settings.WEBHOOKS)
    if wanted.webhooks:
        found += rules(["webhooks-own"])


def _webhooks(namespace: str) -> list[Obj]:
    """The Service of webhooks, and the configurations that call it."""
    text = _read("webhooks.yaml").replace(f"namespace: {NAMESPACE}", f"namespace: {namespace}")
    return [*yaml.safe_load_all(text)]


def _scheduler(wanted: WantedInstallation) -> list[Obj]:
    """The scheduler's objects: the controllers' with another name, other rights and another command.
    Volcano's standard queues are not among them: the scheduler creates those once webhooks answer."""
    made: list[Obj] = []
    for obj in yaml.safe_load_all(_read("install.yaml").replace(_CONTROLLERS, _SCHEDULER)):
        _move(obj, wanted.namespace)
        match obj["kind"]:
            case "Namespace":
                continue
            case "ClusterRole":
                obj["rules"] = rules(["scheduler"])
            case "Deployment":
                container = obj["spec"]["template"]["spec"]["containers"][0]
                container["name"], container["image"] = "scheduler", wanted.image
                container["command"][1] = "scheduler"
        made.append(obj)
    return made


def rules(controllers: Sequence[str]) -> list[Obj]:
    """The rights of these controllers, each rule once."""
    known: dict[str, Any] = yaml.safe_load(_read("rights.yaml"))
    wanted: list[Obj] = []
    for name in controllers:
        wanted += [rule for rule in known[name] if rule not in wanted]
    return wanted


def _move(obj: Obj, namespace: str) -> None:
    if obj["kind"] == "Namespace":
        obj["metadata"]["name"] = namespace
    elif "namespace" in obj["metadata"]:
        obj["metadata"]["namespace"] = namespace
    for subject in obj.get("subjects", ()):
        subject["namespace"] = namespace


def _fill(container: Obj, wanted: WantedInstallation) -> None:
    container["image"] = wanted.image
    if wanted.controllers != settings.CONTROLLERS:
        container["command"] += ["--controllers", ",".join(wanted.controllers)]
    if wanted.managed_by != own_names.JOB_CONTROLLER:
        container["command"] += ["--managed-by", wanted.managed_by]
    if wanted.only:
        container["command"] += ["--namespace", wanted.only]
    if wanted.shards:
        container["command"] += ["--shards", str(wanted.shards), "--shard-by", wanted.shard_by]
    if wanted.webhooks:
        container["command"].append("--webhooks")
        container["ports"].append({"name": "webhooks", "containerPort": settings.WEBHOOKS_PORT})


def _narrowed(obj: Obj, wanted: WantedInstallation) -> list[Obj]:
    """Turns a role for the whole cluster into one in the namespace to work in. Rules for objects without a
    namespace stay in a role for the cluster, if the controllers read such objects.

    The narrow role gets a name of its own, because the other role may be in the same namespace."""
    if obj["kind"] not in ("ClusterRole", "ClusterRoleBinding"):
        return [obj]
    wide: list[Obj] = []
    inside: list[Obj] = []
    scoped = yaml.safe_load(_read("rights.yaml"))["cluster-scoped"]
    for rule in rules(wanted.controllers):
        (wide if rule["resources"][0] in scoped else inside).append(rule)
    meta = {"name": _NARROW_ROLE, "namespace": wanted.only}
    narrow = {**obj, "kind": obj["kind"].removeprefix("Cluster"), "metadata": meta}
    if "roleRef" in obj:
        narrow["roleRef"] = obj["roleRef"] | {"kind": "Role", "name": _NARROW_ROLE}
    else:
        narrow["rules"], obj["rules"] = inside, wide
    return [obj, narrow] if wide else [narrow]


def _dumped(objects: list[Obj]) -> str:
    text: str = yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, explicit_start=True)
    return text


def _read(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text()


class _Dumper(yaml.SafeDumper):
    """Writes equal parts out again instead of YAML aliases: these texts are for people."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


# Volcano's resource definitions for a cluster without Volcano, written from longshore's own tables.


def definition_documents() -> list[Obj]:
    """A CustomResourceDefinition for each of Volcano's kinds, with the whole schema of pods."""
    return [_definition(row) for row in table.RESOURCES if row.group.endswith(".volcano.sh")]


def _definition(row: Resource) -> Obj:
    names: Obj = {"kind": row.kind, "listKind": row.list_kind, "plural": row.plural, "singular": row.singular}
    if row.short_names:
        names["shortNames"] = [*row.short_names]
    version: Obj = {
        "name": row.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _whole(_keyed(volcano.schema_of(row.group_version, row.kind)))},
    }
    if "status" in row.subresources:
        version["subresources"] = {"status": {}}
    if columns := [*_columns(VOLCANO.get((row.group, row.kind), ()))]:
        version["additionalPrinterColumns"] = columns
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{row.plural}.{row.group}"},
        "spec": {
            "group": row.group,
            "names": names,
            "scope": "Namespaced" if row.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _whole(schema: Obj) -> Obj:
    """Adds the three fields that every object has, which a definition must name."""
    own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return {**schema, "properties": {**own, **schema["properties"]}}


def _keyed(value: Any) -> Any:
    """Makes the keys of lists required or gives them a default, as a definition must."""
    if isinstance(value, list):
        return [_keyed(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: _keyed(inner) for name, inner in value.items()}
    if keys := made.get("x-kubernetes-list-map-keys"):
        items = made["items"]
        required = [key for key in keys if "default" not in items["properties"][key]]
        items["required"] = sorted({*items.get("required", ()), *required})
    return made


def _columns(columns: Iterable[PrinterColumn]) -> Iterable[Obj]:
    for column in columns:
        made: Obj = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
        if column.description:
            made["description"] = column.description
        if column.priority:
            made["priority"] = column.priority
        yield made
