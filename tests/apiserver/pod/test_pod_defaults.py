"""What the server fills in, where the recordings do not show it."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.pod.pod_scene import Pods, canonical
from longshore.api.defaults.images import pull_policy
from longshore.api.defaults.pod import default_pod, default_pod_template
from longshore.api.types import Obj, copy_of


def pod_with(**spec: Any) -> Obj:
    spec = {"containers": [{"name": "main", "image": "i:1"}], **spec}
    pod = canonical({"metadata": {"name": "p"}, "spec": spec})
    default_pod(pod)
    return pod


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("host.example:5000/a/b", "Always"),
        ("host.example:5000/a/b:v1", "IfNotPresent"),
        ("Upper/x", "Always"),  # an upper-case first part is a host
        ("a@sha256:" + "0" * 64, "IfNotPresent"),
        ("a:latest@sha256:" + "0" * 64, "Always"),
        # What is no image name at all has no tag:
        ("UPPER", "IfNotPresent"),
        ("f" * 64, "IfNotPresent"),
        ("a b", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_images_that_may_change_are_pulled_always(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_amounts_finer_than_a_thousandth_are_rounded_up() -> None:
    resources = {"requests": {"cpu": "0.0001", "memory": "1.0000001Ki"}}
    spec = pod_with(containers=[{"name": "main", "image": "i", "resources": resources}])["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1m", "memory": "1024001m"}


def test_templates_keep_limits_without_requests_and_ports_without_host_ports() -> None:
    container = {
        "name": "main",
        "image": "i",
        "resources": {"limits": {"cpu": "1"}},
        "ports": [{"containerPort": 80}],
    }
    template = canonical(
        {"spec": {"containers": [container], "hostNetwork": True, "terminationGracePeriodSeconds": -1}},
        "core/v1.PodTemplateSpec",
    )
    default_pod_template(template)
    [got] = template["spec"]["containers"]
    assert got["resources"] == {"limits": {"cpu": "1"}}
    assert got["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert template["spec"]["terminationGracePeriodSeconds"] == -1
    assert "enableServiceLinks" not in template["spec"]


def test_a_pod_asks_for_what_its_containers_ask_for_together() -> None:
    spec = pod_with(
        containers=[
            {"name": "a", "image": "i", "resources": {"requests": {"cpu": "100m"}}},
            {"name": "b", "image": "i", "resources": {"requests": {"cpu": "200m"}}},
        ],
        resources={"limits": {"cpu": "1", "memory": "1Gi"}},
    )["spec"]
    assert spec["resources"]["requests"] == {"cpu": "300m", "memory": "1Gi"}


def test_huge_pages_of_containers_become_the_pods_limit() -> None:
    limits = {"hugepages-2Mi": "4Mi", "memory": "8Mi"}
    spec = pod_with(
        containers=[{"name": "a", "image": "i", "resources": {"limits": limits}}],
        resources={"limits": {"memory": "16Mi"}},
    )["spec"]
    assert spec["resources"]["limits"] == {"memory": "16Mi", "hugepages-2Mi": "4Mi"}
    assert spec["resources"]["requests"] == {"memory": "8Mi", "hugepages-2Mi": "4Mi"}


@pytest.mark.parametrize(
    ("source", "filled"),
    [
        ({"iscsi": {"targetPortal": "t", "iqn": "i", "lun": 1}}, {"iscsiInterface": "default"}),
        (
            {"rbd": {"monitors": ["m"], "image": "i"}},
            {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
        ),
        (
            {"azureDisk": {"diskName": "d", "diskURI": "u"}},
            {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
        ),
        ({"scaleIO": {"gateway": "g", "system": "s"}}, {"storageMode": "ThinProvisioned", "fsType": "xfs"}),
        ({"image": {"reference": "a:1"}}, {"pullPolicy": "IfNotPresent"}),
        ({"image": {"reference": "a"}}, {"pullPolicy": "Always"}),
    ],
)
def test_volume_sources_are_filled_in(source: Obj, filled: Obj) -> None:
    [volume] = pod_with(volumes=[{"name": "v", **copy_of(source)}])["spec"]["volumes"]
    [kind] = source
    assert filled.items() <= volume[kind].items()


def test_the_claim_of_an_ephemeral_volume_is_a_file_system() -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"]}}
    [volume] = pod_with(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])["spec"][
        "volumes"
    ]
    assert volume["ephemeral"]["volumeClaimTemplate"]["spec"]["volumeMode"] == "Filesystem"


def test_pod_ip_and_pod_ips_follow_each_other() -> None:
    only_one: Obj = {"metadata": {"name": "p"}, "status": {"podIP": "10.0.0.1"}}
    only_list: Obj = {"metadata": {"name": "p"}, "status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]}}
    differing: Obj = {
        "metadata": {"name": "p"},
        "status": {"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]},
    }
    for pod, address, addresses in (
        (only_one, "10.0.0.1", ["10.0.0.1"]),
        (only_list, "10.0.0.1", ["10.0.0.1", "::1"]),
        (differing, "10.0.0.2", ["10.0.0.2"]),
    ):
        default_pod(pod)
        assert pod["status"]["podIP"] == address
        assert [entry["ip"] for entry in pod["status"]["podIPs"]] == addresses


def test_defaults_do_not_touch_a_pod_that_has_them(pods: Pods) -> None:
    pod = pods.create(
        {
            "metadata": {"name": "p", "annotations": {"a": "b"}},
            "spec": {
                "serviceAccount": "robot",
                "hostNetwork": True,
                "volumes": [
                    {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
                ],
                "containers": [
                    {
                        "name": "main",
                        "image": "i",
                        "ports": [{"containerPort": 1}],
                        "resources": {"limits": {"cpu": "1"}},
                        "livenessProbe": {"grpc": {"port": 1}},
                        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                    }
                ],
            },
        }
    )
    again = _Frozen.of(pod)
    default_pod(again)
    assert again == pod


class _Frozen(dict):  # type: ignore[type-arg]
    """A dict that refuses every write, to find writes of equal values too."""

    @classmethod
    def of(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return cls((k, cls.of(v)) for k, v in value.items())
        return [cls.of(v) for v in value] if isinstance(value, list) else value

    def __setitem__(self, key: object, value: object) -> None:
        raise AssertionError(f"wrote {key} = {value}")
