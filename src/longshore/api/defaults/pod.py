"""Defaults of a pod.

`default_pod_spec` is for every pod spec, wherever it stands; `default_pod_template` for the template
of a Job or PodTemplate; `default_pod` for Pods, which get more: requests from limits, host ports,
service links. Running any of them on an object that has its defaults changes nothing, not even by
writing an equal value, so a stored part may stand inside a new object.
"""

from __future__ import annotations

from typing import Final

from longshore.api import pod_resources
from longshore.api import quantity as api_quantity
from longshore.api.defaults import images, pod_volumes
from longshore.api.types import Obj

INIT_ANNOTATIONS: Final = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)


def default_pod(pod: Obj) -> None:
    """Fills in a whole Pod, spec and status."""
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            _requests_from_limits(container["resources"])
            if spec.get("hostNetwork"):
                _host_ports(container)
    spec.setdefault("enableServiceLinks", True)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if spec.get("resources"):
        _pod_level_resources(spec)
    if annotations := (pod.get("metadata") or {}).get("annotations"):
        _drop_init_annotations(annotations)
    default_pod_status(pod)


def default_pod_status(pod: Obj) -> None:
    if status := pod.get("status"):
        _pod_ips(status)


def default_pod_template(template: Obj) -> None:
    """Fills in the `template` of a Job or of a PodTemplate."""
    default_pod_spec(template.setdefault("spec", {}))
    if annotations := template.setdefault("metadata", {}).get("annotations"):
        _drop_init_annotations(annotations)


def default_pod_spec(spec: Obj) -> None:
    """Fills in the defaults that Pods and pod templates share."""
    drop_disabled(spec)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account and not (spec.get("serviceAccountName") == spec.get("serviceAccount") == account):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        pod_volumes.default_volume(volume)
    for container in spec.get("containers") or ():
        _container(container)
    for part in ("initContainers", "ephemeralContainers"):
        for container in spec.get(part) or ():
            _container(container)
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    if overhead := spec.get("overhead"):
        api_quantity.round_up_list(overhead)
    if resources := spec.get("resources"):
        api_quantity.round_up(resources)


def _container(container: Obj) -> None:
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            pod_volumes.default_refs(source)
    resources = container.get("resources")
    if resources is None:
        container["resources"] = {}
    elif resources:
        api_quantity.round_up(resources)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (settings := container.get(probe)) is not None:
            _probe(settings)
    if lifecycle := container.get("lifecycle"):
        for hook in ("postStart", "preStop"):
            if handler := lifecycle.get(hook):
                _http_get(handler)
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = images.pull_policy(container.get("image") or "")


def _probe(probe: Obj) -> None:
    for name, value in _PROBE:
        if not probe.get(name):
            probe[name] = value
    _http_get(probe)
    if (grpc := probe.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""


_PROBE: Final = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)


def _http_get(handler: Obj) -> None:
    if (action := handler.get("httpGet")) is not None:
        if not action.get("path"):
            action["path"] = "/"
        if not action.get("scheme"):
            action["scheme"] = "HTTP"


def _requests_from_limits(resources: Obj) -> None:
    """Gives each limit without a request a request of the same size. Templates are left as they are."""
    limits = resources.get("limits")
    if limits:
        requests = resources.setdefault("requests", {})
        for name, quantity in limits.items():
            if name not in requests:
                requests[name] = quantity


def _host_ports(container: Obj) -> None:
    for port in container.get("ports") or ():
        if not port.get("hostPort") and port.get("containerPort"):
            port["hostPort"] = port["containerPort"]


def _pod_level_resources(spec: Obj) -> None:
    """Fills in the pod's own limits and requests, once it has some, from those of its containers."""
    resources = spec["resources"]
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return
    # Huge pages are not overcommitted, so a limit of the containers is one of the pod; but a request
    # that stands alone is the user's mistake to hear of.
    for name, quantity in pod_resources.container_limits(spec).items():
        if name.startswith(pod_resources.HUGE_PAGES) and name not in requests and name not in limits:
            limits = resources.setdefault("limits", limits)
            limits[name] = quantity
    if not limits:
        return
    filled: dict[str, str] = {}
    for name, quantity in pod_resources.container_requests(spec).items():
        if name in pod_resources.POD_LEVEL and name not in requests:
            filled[name] = quantity
    for name, quantity in limits.items():
        if name not in requests and name not in filled and pod_resources.is_pod_level(name):
            filled[name] = quantity
    if filled:
        resources.setdefault("requests", requests).update(filled)


def _drop_init_annotations(annotations: Obj) -> None:
    """Removes annotations from the time before init containers had a field."""
    for key in INIT_ANNOTATIONS:
        annotations.pop(key, None)


def _pod_ips(status: Obj) -> None:
    """Makes `podIP` and the first of `podIPs` equal; when they differ, `podIP` wins."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address:
        if not addresses or addresses[0].get("ip") != address:
            status["podIPs"] = [{"ip": address}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def drop_disabled(spec: Obj) -> None:
    """Removes fields behind disabled feature gates from a pod spec."""
    spec.pop("schedulingGroup", None)
    for part in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(part) or ():
            if "stopSignal" in (container.get("lifecycle") or ()):
                del container["lifecycle"]["stopSignal"]
                if not container["lifecycle"]:
                    del container["lifecycle"]
    for volume in spec.get("volumes") or ():
        if projected := volume.get("projected"):
            for source in projected.get("sources") or ():
                source.pop("clusterTrustBundle", None)
                source.pop("podCertificate", None)
