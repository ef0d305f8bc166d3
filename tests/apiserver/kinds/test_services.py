"""Services: defaults, addresses and ports that are given, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.kinds.service import cluster_ip
from longshore.api.types import Obj

PORT = {"port": 80}


@pytest.fixture
def services(kind: Callable[..., Any]) -> Any:
    return kind("services")


def a_service(**spec: Any) -> Obj:
    return {"metadata": {"name": "s"}, "spec": {"ports": [dict(PORT)], "selector": {"a": "b"}, **spec}}


def test_a_plain_service_gets_an_address_of_its_own(services: Any) -> None:
    made = services.create(a_service())
    address = made["spec"].pop("clusterIP")
    assert made["spec"] == {
        "type": "ClusterIP",
        "clusterIPs": [address],
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "selector": {"a": "b"},
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    assert made["status"] == {"loadBalancer": {}}
    assert address.startswith("10.96.")


def test_addresses_depend_on_the_uid_alone() -> None:
    assert cluster_ip("a") == cluster_ip("a")
    addresses = {cluster_ip(str(n)) for n in range(500)}
    assert len(addresses) > 490
    assert all(0 <= int(part) <= 255 for a in addresses for part in a.split("."))


def test_a_headless_service_gets_no_address(services: Any) -> None:
    made = services.create(a_service(clusterIP="None"))
    assert made["spec"]["clusterIPs"] == ["None"]
    assert made["spec"]["ipFamilyPolicy"] == "SingleStack"
    made = services.create(a_service(clusterIP="None", selector=None, ports=None))
    assert made["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    assert made["spec"]["ipFamilyPolicy"] == "RequireDualStack"


def test_node_ports_are_given_and_kept(services: Any) -> None:
    old = services.create(
        a_service(type="NodePort", ports=[{"name": "a", "port": 1}, {"name": "b", "port": 2}])
    )
    numbers = [port["nodePort"] for port in old["spec"]["ports"]]
    assert len(set(numbers)) == 2
    assert all(30000 <= n <= 32767 for n in numbers)
    again = a_service(type="NodePort", ports=[{"name": "b", "port": 2}, {"name": "a", "port": 1}])
    new = services.update(old, {"spec": again["spec"]})
    assert [port["nodePort"] for port in new["spec"]["ports"]] == numbers[::-1]
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]


def test_a_service_becomes_an_external_name_and_loses_its_address(services: Any) -> None:
    old = services.create(a_service())
    new = services.update(
        old, {"spec": {**old["spec"], "type": "ExternalName", "externalName": "example.com"}}
    )
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & new["spec"].keys()


def test_a_client_that_drops_the_address_keeps_it(services: Any) -> None:
    old = services.create(a_service())
    assert services.update(old, {"spec": a_service()["spec"]}) == old


def test_the_address_cannot_change(services: Any) -> None:
    old = services.create(a_service(clusterIP="10.96.0.20"))
    text = services.refusal(services.update, old, {"spec": {**old["spec"], "clusterIP": "10.96.0.21"}})
    assert text == 'spec.clusterIPs[0]: Invalid value: ["10.96.0.21"]: may not change once set'


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"ports": None}, "spec.ports: Required value"),
        (
            {"type": "Odd"},
            'spec.type: Unsupported value: "Odd": '
            'supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
        ),
        (
            {"type": "NodePort", "clusterIP": "None"},
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
        ),
        ({"type": "ExternalName", "ports": None}, "spec.externalName: Required value"),
        (
            {"ports": [{"port": 0}]},
            "[spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, incl",
        ),
        (
            {"ports": [{"port": 1}, {"port": 1, "name": "b"}]},
            "[spec.ports[0].name: Required value, spec.ports[1]: Duplicate value: ",
        ),
        (
            {"ports": [{"port": 1, "protocol": "ICMP"}]},
            'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        ),
        (
            {"ports": [{"port": 1, "nodePort": 30001}]},
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: "
            "must be greater than 0 and less than 86400",
        ),
        (
            {"clusterIP": "nonsense"},
            'spec.clusterIPs[0]: Invalid value: "nonsense": must be a valid IP address',
        ),
        (
            {"externalIPs": ["127.0.0.1"]},
            'spec.externalIPs[0]: Invalid value: "127.0.0.1": '
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            {"externalTrafficPolicy": "Local"},
            'spec.externalTrafficPolicy: Invalid value: "Local": '
            "may only be set for externally-accessible services",
        ),
        (
            {"loadBalancerSourceRanges": ["10.0.0.0/33"]},
            "[spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer', "
            'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value',
        ),
    ],
)
def test_what_makes_no_sense_is_refused(services: Any, spec: Obj, text: str) -> None:
    assert services.refusal(services.create, a_service(**spec)).startswith(text)
