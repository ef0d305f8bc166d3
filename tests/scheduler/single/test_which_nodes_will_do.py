"""The filters and scores: decisions on a ledger, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.fitting.pod_shape import Pod, Shapes
from longshore.scheduler.ledger import Ledger
from longshore.scheduler.single import scoring
from longshore.scheduler.single.decide import PlacementPlan, decide
from longshore.scheduler.single.scoring import Weights
from longshore.scheduler.view import SchedulerView

SHAPES = Shapes()


def node(name: str, *, labels: Obj | None = None, give: Obj | None = None, **spec: Any) -> Obj:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", **(give or {})}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": amounts},
    }


def pod(name: str, asks: Obj | None = None, *, labels: Obj | None = None, **spec: Any) -> Pod:
    container: Obj = {"name": "c", "image": "i", **spec.pop("container", {})}
    if asks:
        container["resources"] = {"requests": asks}
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": name,
        "labels": labels or {},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return SHAPES.pod({"metadata": meta, "spec": {"containers": [container], **spec}})


def view(*nodes: Obj, there: dict[str, list[Pod]] | None = None, **objects: dict[str, Obj]) -> SchedulerView:
    ledger = Ledger()
    for each in nodes:
        ledger.put_node(each)
    for name, pods in (there or {}).items():
        for bound in pods:
            ledger.assume(bound, name)
    volumes = Volumes(
        lambda _, name: objects.get("claims", {}).get(name),
        lambda _, name: objects.get("volumes", {}).get(name),
        lambda _, name: objects.get("classes", {}).get(name),
    )
    return SchedulerView(ledger, volumes, lambda _: {}, ())


def reason(plan: PlacementPlan) -> str:
    assert not plan.node
    return plan.message.split(". preemption")[0]


AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def chosen(*expressions: Obj, fields: list[Obj] | None = None) -> Obj:
    term: Obj = {"matchExpressions": [*expressions]}
    if fields:
        term["matchFields"] = fields
    return {"nodeAffinity": {AFFINITY: {"nodeSelectorTerms": [term]}}}


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "gpus", "operator": "In", "values": ["4", "8"]}, True),
        ({"key": "gpus", "operator": "In", "values": ["8"]}, False),
        ({"key": "gpus", "operator": "NotIn", "values": ["8"]}, True),
        ({"key": "none", "operator": "NotIn", "values": ["8"]}, True),
        ({"key": "gpus", "operator": "Exists"}, True),
        ({"key": "gpus", "operator": "DoesNotExist"}, False),
        ({"key": "gpus", "operator": "Gt", "values": ["3"]}, True),
        ({"key": "gpus", "operator": "Gt", "values": ["4"]}, False),
        ({"key": "gpus", "operator": "Lt", "values": ["5"]}, True),
        ({"key": "none", "operator": "Lt", "values": ["5"]}, False),
    ],
)
def test_every_operator_of_node_affinity(expression: Obj, fits: bool) -> None:
    plan = decide(pod("p", affinity=chosen(expression)), view(node("a", labels={"gpus": "4"})))
    assert bool(plan.node) is fits
    if not fits:
        assert "1 node(s) didn't match Pod's node affinity/selector" in plan.message


def test_a_node_can_be_asked_for_by_its_name() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
    assert decide(pod("p", affinity=chosen(fields=fields)), view(node("a"), node("b"))).node == "b"


def test_a_node_selector_needs_every_label() -> None:
    nodes = view(node("a", labels={"disk": "ssd"}), node("b", labels={"disk": "ssd", "zone": "z"}))
    assert decide(pod("p", nodeSelector={"disk": "ssd", "zone": "z"}), nodes).node == "b"


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (None, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
    ],
)
def test_taints_keep_pods_away_that_do_not_tolerate_them(toleration: Obj | None, fits: bool) -> None:
    tainted = view(node("a", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]))
    plan = decide(pod("p", tolerations=[toleration] if toleration else []), tainted)
    assert bool(plan.node) is fits
    if not fits:
        assert reason(plan) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)"
        assert [*map(str, plan.numbers)] == ["node a has the taint k=v:NoSchedule"]


def test_a_cordoned_node_takes_only_those_who_tolerate_it() -> None:
    cordoned = view(node("a", unschedulable=True))
    assert reason(decide(pod("p"), cordoned)) == "0/1 nodes are available: 1 node(s) were unschedulable"
    tolerant = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    assert decide(pod("p", tolerations=tolerant), cordoned).node == "a"


def test_every_short_resource_is_named_and_extended_ones_count() -> None:
    nodes = view(node("a", give={"example.com/gpu": "1"}))
    assert decide(pod("p", {"example.com/gpu": "1"}), nodes).node == "a"
    plan = decide(pod("p", {"cpu": "5", "memory": "9Gi", "example.com/gpu": "2"}), nodes)
    assert reason(plan) == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu, 1 Insufficient memory"
    )
    assert "asks 9Gi memory, node a has 8Gi of 8Gi left" in map(str, plan.numbers)


def test_a_node_takes_only_so_many_pods() -> None:
    nodes = view(node("a", give={"pods": "1"}), there={"a": [pod("there")]})
    plan = decide(pod("p"), nodes)
    assert reason(plan) == "0/1 nodes are available: 1 Too many pods"
    assert [*map(str, plan.numbers)] == ["node a has 1 of 1 pods"]


def test_init_containers_sidecars_and_overhead_count() -> None:
    init = [
        {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"name": "i", "image": "i", "resources": {"requests": {"cpu": "2"}}},
    ]
    needs = pod("p", {"cpu": "1"}, initContainers=init, overhead={"cpu": "500m"})
    assert needs.shape.requests == {"cpu": 3500}


def port(number: int, address: str = "") -> Obj:
    return {"ports": [{"containerPort": 80, "hostPort": number, **({"hostIP": address} if address else {})}]}


@pytest.mark.parametrize(
    ("taken", "wanted", "fits"),
    [
        (port(80), port(81), True),
        (port(80), port(80), False),
        (port(80, "10.0.0.1"), port(80, "10.0.0.2"), True),
        (port(80, "10.0.0.1"), port(80), False),
    ],
)
def test_a_host_port_is_given_once(taken: Obj, wanted: Obj, fits: bool) -> None:
    nodes = view(node("a"), there={"a": [pod("there", container=taken)]})
    plan = decide(pod("p", container=wanted), nodes)
    assert bool(plan.node) is fits
    if not fits:
        assert "1 node(s) didn't have free ports for the requested pod ports" in plan.message


def near(key: str, app: str, kind: str = "podAffinity") -> Obj:
    return {kind: {AFFINITY: [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]}}


def test_pods_that_want_to_be_together_are() -> None:
    zones = node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"})
    friend = pod("friend", labels={"app": "web"})
    assert decide(pod("p", affinity=near("zone", "web")), view(*zones, there={"b": [friend]})).node == "b"
    lonely = decide(pod("p", affinity=near("zone", "web")), view(*zones))
    assert reason(lonely) == "0/2 nodes are available: 2 node(s) didn't match pod affinity rules"
    assert decide(pod("p", labels={"app": "web"}, affinity=near("zone", "web")), view(*zones)).node


def test_pods_that_want_to_be_apart_are_in_both_directions() -> None:
    hostname, apart = "kubernetes.io/hostname", "podAntiAffinity"
    one = pod("one", labels={"app": "db"}, affinity=near(hostname, "db", apart))
    nodes = node("a"), node("b")
    another = pod("p", labels={"app": "db"}, affinity=near(hostname, "db", apart))
    assert decide(another, view(*nodes, there={"a": [one]})).node == "b"
    innocent = pod("p", labels={"app": "db"})
    plan = decide(innocent, view(node("a"), there={"a": [one]}))
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in plan.message
    assert decide(pod("q", labels={"app": "web"}), view(node("a"), there={"a": [one]})).node == "a"


def test_spread_keeps_domains_even() -> None:
    even = [
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "w"}},
        }
    ]
    zones = node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c")
    there = {"a": [pod("w0", labels={"app": "w"})]}
    wants = pod("p", labels={"app": "w"}, topologySpreadConstraints=even)
    assert decide(wants, view(*zones, there=there)).node == "b"
    full = view(zones[0], node("b", labels={"zone": "y"}, unschedulable=True), zones[2], there=there)
    assert reason(decide(wants, full)) == (
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't "
        "match pod topology spread constraints (missing required label), 1 node(s) were unschedulable"
    )


def test_the_emptier_node_is_better_and_a_preferred_one_better_still() -> None:
    nodes = node("a"), node("b", labels={"disk": "ssd"})
    busy = {"b": [pod("there", {"cpu": "3", "memory": "6Gi"})]}
    assert decide(pod("p", {"cpu": "500m"}), view(*nodes, there=busy)).node == "a"
    preferred = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 50, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
            ]
        }
    }
    assert decide(pod("p", {"cpu": "500m"}, affinity=preferred), view(*nodes, there=busy)).node == "b"


@pytest.mark.parametrize(
    ("used", "asks", "weights", "score"),
    [
        ({"cpu": "3"}, {"cpu": "400m"}, Weights(balance=0), 55),  # (15 of cpu + 95 of memory) / 2
        ({"cpu": "3"}, {"cpu": "400m"}, Weights(emptiness=0), 59),  # 100 × (1 - (0.850 - 0.049) / 2)
        ({"cpu": "3"}, {"cpu": "400m"}, Weights(0, 1, 0), 44),  # (85 of cpu + 4 of memory) / 2
        ({"cpu": "4"}, {"cpu": "1"}, Weights(0, 1, 0), 52),  # more than there is counts as all
    ],
)
def test_scores_are_whole_numbers_as_upstreams(used: Obj, asks: Obj, weights: Weights, score: int) -> None:
    there = {"a": [pod("there", used)]}
    (only,) = view(node("a"), there=there).ledger
    assert scoring.by_resources(pod("p", asks), only, weights) == score


def test_nodes_less_than_a_hundredth_apart_are_equal_and_the_first_is_taken() -> None:
    wide = {"cpu": "64", "memory": "256Gi"}
    nodes = node("a", give=wide), node("b", give=wide)
    small = pod("small", {"cpu": "10m", "memory": "1Mi"})
    assert decide(pod("p", {"cpu": "700m"}), view(*nodes, there={"a": [small]})).node == "a"
    large = pod("large", {"cpu": "3", "memory": "6Gi"})
    assert decide(pod("p", {"cpu": "700m"}), view(*nodes, there={"a": [large]})).node == "b"


def test_a_third_of_the_preferences_is_worth_33() -> None:
    nodes = node("a", labels={"x": "1"}), node("b", labels={"x": "1", "y": "1"}), node("c")
    preferred = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}
        for key, weight in (("x", 1), ("y", 2))
    ]
    wants = pod(
        "p", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    )
    found = scoring.scores(wants, [*view(*nodes).ledger], lambda _: {}, weights=Weights(0, 0, 0, 1))
    assert found == {"a": 33, "b": 100, "c": 0}


def test_a_node_that_others_should_rather_avoid_is_avoided() -> None:
    soft = node("a", taints=[{"key": "k", "effect": "PreferNoSchedule"}])
    assert decide(pod("p"), view(soft, node("b"))).node == "b"
    assert decide(pod("p"), view(soft)).node == "a"


CLAIM = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]


def claim(volume: str = "", storage_class: str = "slow") -> Obj:
    spec: Obj = {"storageClassName": storage_class}
    if volume:
        spec["volumeName"] = volume
    return {
        "metadata": {"name": "c", "uid": "c"},
        "spec": spec,
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def test_claims_that_are_missing_or_unbound_are_waited_for() -> None:
    wants = pod("p", volumes=CLAIM)
    assert reason(decide(wants, view(node("a")))) == (
        '0/1 nodes are available: persistentvolumeclaim "c" not found'
    )
    plan = decide(wants, view(node("a"), claims={"c": claim()}))
    assert reason(plan) == "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims"
    assert plan.message.endswith("1 Preemption is not helpful for scheduling.")


def test_a_claim_that_waits_for_its_consumer_goes_where_the_pod_goes() -> None:
    classes = {"lazy": {"metadata": {"name": "lazy"}, "volumeBindingMode": "WaitForFirstConsumer"}}
    plan = decide(
        pod("p", volumes=CLAIM), view(node("a"), claims={"c": claim(storage_class="lazy")}, classes=classes)
    )
    assert plan.node == "a"
    assert plan.needs is not None
    assert [each["metadata"]["name"] for each in plan.needs.waiting] == ["c"]


def test_a_bound_claim_ties_the_pod_to_its_volumes_node() -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}]}
    volume = {
        "metadata": {"name": "pv"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
    }
    seen: Any = {"claims": {"c": claim("pv")}, "volumes": {"pv": volume}}
    wants = pod("p", volumes=CLAIM)
    assert decide(wants, view(node("a"), node("b"), **seen)).node == "b"
    plan = decide(wants, view(node("a"), **seen))
    assert reason(plan) == "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity"


def test_pods_that_differ_in_nothing_a_scheduler_reads_share_a_shape() -> None:
    one = pod("a", {"cpu": "1"}, hostname="a")
    other = pod("b", {"cpu": "1"}, hostname="b", labels={"x": "y"})
    assert one.shape is other.shape
    assert pod("c", {"cpu": "2"}).shape is not one.shape


def told(plan: PlacementPlan) -> tuple[object, ...]:
    """All that a plan says, without the live pods it speaks of."""
    victims = plan.victims
    gone = () if victims is None else (victims.node, [pod.key for pod in victims.pods], victims.violations)
    waiting = () if plan.needs is None else plan.needs.waiting
    return plan.node, gone, waiting, plan.message, plan.numbers, plan.wakes, plan.why, plan.look_again


UNBOUND = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"storageClassName": "later"}}
LATER = {"metadata": {"name": "later"}, "volumeBindingMode": "WaitForFirstConsumer"}


@pytest.mark.parametrize(
    "wanted",
    [
        pod("fits", {"cpu": "1"}),
        pod("preempts", {"cpu": "3"}, priority=10),
        pod("waits", {"cpu": "9"}),
        pod("elsewhere", nodeSelector={"kubernetes.io/hostname": "c"}),
        pod("claims", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
        pod("repelled", labels={"app": "web"}),
    ],
    ids=lambda wanted: wanted.key[1],
)
def test_deciding_twice_gives_the_same_plan(wanted: Pod) -> None:
    rule = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    lonely = pod("lonely", {"cpu": "2"}, affinity={"podAntiAffinity": {AFFINITY: [rule]}})
    there = {"a": [pod("low", {"cpu": "3"})], "b": [lonely]}
    seen = view(node("a"), node("b"), there=there, claims={"c": UNBOUND}, classes={"later": LATER})
    seen.ledger.nominate(pod("promised", {"cpu": "1"}, priority=20), "b")
    assert told(decide(wanted, seen)) == told(decide(wanted, seen))
