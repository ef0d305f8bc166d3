"""svc: gives the Job's pods DNS names, and gives each pod the names of all others.

A headless Service makes `<pod>.<job>` resolve; a ConfigMap lists the names by task, as files under
/etc/volcano and as environment variables; a NetworkPolicy blocks the pods of other Jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from longshore.api.facts import kinds
from longshore.api.goflags import Value
from longshore.api.types import Obj
from longshore.controllers.volcano.names import JOB_NAME, JOB_NAMESPACE
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import Plugin, Wanted

_PATH = "/etc/volcano"


class Svc(Plugin):
    name: ClassVar[str] = "svc"
    defaults: ClassVar[dict[str, Value]] = {
        "publish-not-ready-addresses": False,
        "disable-network-policy": False,
        "inject-hosts-env": True,
    }

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        spec, meta = pod["spec"], job["metadata"]
        spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
        spec["subdomain"] = spec.get("subdomain") or meta["name"]
        listed = _config_map(job)
        if self.flags["inject-hosts-env"]:
            names = [name for task in job["spec"].get("tasks") or () for name in _variables(task)]
            source = [
                {"name": name, "valueFrom": {"configMapKeyRef": {"name": listed, "key": name}}}
                for name in names
            ]
            for container in pieces.containers(pod, init=True):
                pieces.add_env(container, source)
        pieces.mount(pod, {"name": listed, "configMap": {"name": listed}}, _PATH)

    def objects(self, job: Obj) -> Iterable[Wanted]:
        meta = job["metadata"]
        hosts = {"data": hosts_of(job)}
        yield Wanted(
            kinds.CONFIG_MAPS,
            _config_map(job),
            lambda found: hosts if found is None or found.get("data") != hosts["data"] else None,
            follows=True,
        )
        pods = {JOB_NAME: meta["name"], JOB_NAMESPACE: meta["namespace"]}
        service: Obj = {"clusterIP": "None", "selector": pods}
        if self.flags["publish-not-ready-addresses"]:
            service["publishNotReadyAddresses"] = True
        yield Wanted(kinds.SERVICES, meta["name"], pieces.once({"spec": service}))
        if not self.flags["disable-network-policy"]:
            selector = {"matchLabels": pods}
            policy = {
                "podSelector": selector,
                "ingress": [{"from": [{"podSelector": selector}]}],
                "policyTypes": ["Ingress"],
            }
            yield Wanted(kinds.NETWORK_POLICIES, meta["name"], pieces.once({"spec": policy}))


def hosts_of(job: Obj) -> dict[str, str]:
    """Returns the ConfigMap's data. Each task has a file of host names, and variables with the names and
    their number."""
    data: dict[str, str] = {}
    for task in job["spec"].get("tasks") or ():
        found = pieces.addresses(job, task)
        data[f"{_identifier(task)}.host"] = "\n".join(found)
        listed, number = _variables(task)
        data[listed], data[number] = ",".join(found), str(len(found))
    return data


def _config_map(job: Obj) -> str:
    return f"{job['metadata']['name']}-svc"


def _identifier(task: Obj) -> str:
    name: str = task["name"]
    return name.replace("-", "_")


def _variables(task: Obj) -> tuple[str, str]:
    name = _identifier(task).upper()
    return f"VC_{name}_HOSTS", f"VC_{name}_NUM"
