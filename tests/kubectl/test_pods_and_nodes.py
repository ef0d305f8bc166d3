"""What kubectl says about pods and nodes while nothing runs them: drain works, logs and exec say why not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from support.kubectl_binary import Kubectl

pytestmark = pytest.mark.xdist_group("kubectl pods and nodes")


@pytest.fixture
def node(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    """A node that exists as an object only."""
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-of-{namespace}"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    kubectl.ok("create", "-f", "-", stdin=json.dumps(body))
    yield body["metadata"]["name"]  # type: ignore[index]
    kubectl.ok("delete", "node", body["metadata"]["name"])  # type: ignore[index]


def run_on(kubectl: Kubectl, node: str, *names: str) -> None:
    for name in names:
        kubectl.ok("run", name, "--image=busybox", f'--overrides={{"spec":{{"nodeName":"{node}"}}}}')


def test_a_pod_without_a_node_has_an_empty_log_and_no_host(kubectl: Kubectl) -> None:
    kubectl.ok("run", "p", "--image=busybox")
    assert kubectl.ok("logs", "p") == ""
    for words in (("exec", "p", "--", "true"), ("attach", "p"), ("cp", "p:/etc/hosts", "hosts")):
        assert "pod p does not have a host assigned" in kubectl.refused(*words)
    assert "pod is not running" in kubectl.refused("port-forward", "p", "8080:80")


def test_a_pod_on_an_unknown_node_names_the_node(kubectl: Kubectl) -> None:
    run_on(kubectl, "ghost", "p")
    assert kubectl.refused("logs", "p") == 'Error from server (NotFound): nodes "ghost" not found\n'
    assert 'nodes "ghost" not found' in kubectl.refused("exec", "p", "--", "true")


def test_a_pod_on_a_node_that_nobody_runs_says_so_at_once(kubectl: Kubectl, node: str) -> None:
    # A time to try again after would make kubectl repeat the request for a minute in silence.
    run_on(kubectl, node, "p")
    for words in (("logs", "p"), ("exec", "p", "--", "true")):
        assert f'no node "{node}" is connected to this longshore' in kubectl.refused(*words)


def test_logs_of_a_wrong_container_are_refused_with_the_right_ones(kubectl: Kubectl) -> None:
    kubectl.ok("run", "p", "--image=busybox")
    assert "container nope is not valid for pod p" in kubectl.refused("logs", "p", "-c", "nope")


def test_drain_evicts_and_waits_until_the_pods_are_gone(kubectl: Kubectl, node: str) -> None:
    run_on(kubectl, node, "p1", "p2")
    drain = kubectl.start("drain", node, "--force", "--timeout=20s")
    assert drain.stdout is not None
    assert drain.stdout.readline() == f"node/{node} cordoned\n"
    gone = "jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name} {end}"
    while kubectl.ok("get", "pods", "-o", gone) != "p1 p2 ":
        pass
    assert drain.poll() is None
    disrupted = 'jsonpath={.status.conditions[?(@.type=="DisruptionTarget")].reason}'
    assert kubectl.ok("get", "pod", "p1", "-o", disrupted) == "EvictionByEvictionAPI"
    kubectl.ok("delete", "pods", "--all", "--force")
    out, _ = drain.communicate(timeout=15)
    assert drain.returncode == 0
    assert out.endswith(f"node/{node} drained\n")
    status = kubectl.ok("get", "node", node, "--no-headers").split()[1]
    assert status.endswith("SchedulingDisabled")
    kubectl.ok("uncordon", node)
    assert not kubectl.ok("get", "node", node, "--no-headers").split()[1].endswith("SchedulingDisabled")


def test_drain_respects_a_disruption_budget(kubectl: Kubectl, node: str) -> None:
    run_on(kubectl, node, "p")
    status = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl.ok("patch", "pod", "p", "--subresource=status", "-p", status)
    kubectl.ok("create", "pdb", "one", "--selector=run=p", "--min-available=1")
    spent = '{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1}}'
    kubectl.ok("patch", "pdb", "one", "--subresource=status", "--type=merge", "-p", spent)
    result = kubectl("drain", node, "--force", "--timeout=1s")
    assert result.exit == 1
    assert "Cannot evict pod as it would violate the pod's disruption budget." in result.stderr


def test_describe_node_sums_up_what_its_pods_ask_for(kubectl: Kubectl, node: str) -> None:
    asks = {
        "containers": [{"name": "p", "image": "i", "resources": {"requests": {"cpu": "1500m"}}}],
        "nodeName": node,
    }
    kubectl.ok("run", "p", "--image=i", f"--overrides={json.dumps({'spec': asks})}")
    described = [line.split() for line in kubectl.ok("describe", "node", node).splitlines()]
    assert ["cpu", "1500m", "(37%)", "0", "(0%)"] in described


def test_taints_come_and_go(kubectl: Kubectl, node: str) -> None:
    kubectl.ok("taint", "node", node, "spot=yes:NoSchedule")
    assert '"key":"spot"' in kubectl.ok("get", "node", node, "-o", "jsonpath={.spec.taints}")
    kubectl.ok("taint", "node", node, "spot-")
    assert "spot" not in kubectl.ok("get", "node", node, "-o", "jsonpath={.spec.taints}")


def test_debug_adds_an_ephemeral_container(kubectl: Kubectl) -> None:
    kubectl.ok("run", "p", "--image=busybox")
    kubectl.ok("debug", "p", "--image=busybox", "--container=look", "--target=p", "-q")
    assert kubectl.ok("get", "pod", "p", "-o", "jsonpath={.spec.ephemeralContainers[*].name}") == "look"
