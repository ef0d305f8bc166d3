"""LimitRanges: the defaults they set and the refusals they cause."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import limitrange, table
from longshore.api.types import Obj
from longshore.apiserver.admission import limitranger

PODS = next(r for r in table.RESOURCES if r.storage == "pods")
CLAIMS = next(r for r in table.RESOURCES if r.storage == "persistentvolumeclaims")


def a_range(kind: str = "Container", **item: Any) -> Obj:
    out: Obj = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": kind, **item}]}}
    limitrange.STRATEGY.default(out)
    return out


def a_pod(*containers: Obj, init: list[Obj] | None = None) -> Obj:
    spec: Obj = {"containers": [{"name": f"c{i}", "resources": r} for i, r in enumerate(containers)]}
    if init:
        spec["initContainers"] = [{"name": f"i{i}", "resources": r} for i, r in enumerate(init)]
    return {"metadata": {"name": "p"}, "spec": spec}


def refusal(pod: Obj, limit_range: Obj, old: Obj | None = None) -> str:
    with pytest.raises(StatusError) as caught:
        limitranger.check(PODS, pod, [limit_range], old)
    assert caught.value.code == 403
    head = 'pods "p" is forbidden: '
    assert caught.value.message.startswith(head)
    return caught.value.message.removeprefix(head)


def test_a_container_that_asks_for_nothing_gets_the_defaults() -> None:
    pod = a_pod({}, {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}, init=[{}])
    limitranger.set_defaults(
        pod, [a_range(default={"cpu": "500m"}, defaultRequest={"cpu": "100m", "memory": "1Mi"})]
    )
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m"},
        "requests": {"cpu": "100m", "memory": "1Mi"},
    }
    assert pod["spec"]["containers"][1]["resources"] == {
        "limits": {"cpu": "1"},
        "requests": {"cpu": "1", "memory": "1Mi"},
    }
    assert pod["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": (
            "LimitRanger plugin set: cpu, memory request for container c0; cpu limit for container c0; "
            "memory request for container c1; cpu, memory request for init container i0; "
            "cpu limit for init container i0"
        )
    }


def test_a_pod_that_asks_for_everything_is_left_alone() -> None:
    pod = a_pod({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})
    limitranger.set_defaults(pod, [a_range(default={"cpu": "500m"}), a_range("Pod", max={"cpu": "9"})])
    assert "annotations" not in pod["metadata"]


@pytest.mark.parametrize(
    ("resources", "item", "text"),
    [
        (
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "1500m"}},
            {"max": {"cpu": "800m"}},
            "maximum cpu usage per Container is 800m, but limit is 1500m",
        ),
        ({}, {"max": {"cpu": "800m"}}, "maximum cpu usage per Container is 800m.  No limit is specified"),
        (
            {"requests": {"memory": "100Mi"}, "limits": {"memory": "800Mi"}},
            {"min": {"memory": "500Mi"}},
            "minimum memory usage per Container is 500Mi, but request is 100Mi",
        ),
        ({}, {"min": {"cpu": "1"}}, "minimum cpu usage per Container is 1.  No request is specified"),
        (
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "300m"}},
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"limits": {"cpu": "300m"}},
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}},
            {"max": {"cpu": "2"}, "min": {"memory": "1Gi"}},
            "[minimum memory usage per Container is 1Gi.  No request is specified, "
            "maximum cpu usage per Container is 2, but limit is 3]",
        ),
    ],
)
def test_a_container_out_of_bounds_is_refused(resources: Obj, item: Obj, text: str) -> None:
    assert refusal(a_pod(resources), a_range(**item)) == text


def test_all_containers_of_a_pod_are_held_to_the_pods_bounds_together() -> None:
    half = {"requests": {"cpu": "600m"}, "limits": {"cpu": "600m"}}
    limits = a_range("Pod", max={"cpu": "1"})
    assert refusal(a_pod(half, half), limits) == "maximum cpu usage per Pod is 1, but limit is 1200m"
    limitranger.check(PODS, a_pod(half), [limits])


def test_what_an_update_leaves_as_it_was_is_not_checked_again() -> None:
    big = {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}
    limits = a_range(max={"cpu": "2"})
    limitranger.check(PODS, a_pod(big), [limits], a_pod(big))
    refusal(a_pod(big), limits, a_pod({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}))


def test_claims_are_held_to_their_own_bounds() -> None:
    limits = a_range("PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"})

    def claim(size: str) -> Obj:
        return {"metadata": {"name": "d"}, "spec": {"resources": {"requests": {"storage": size}}}}

    limitranger.check(CLAIMS, claim("2Gi"), [limits])
    limitranger.check(CLAIMS, claim("3Gi"), [limits], claim("3Gi"))
    with pytest.raises(
        StatusError, match="maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"
    ):
        limitranger.check(CLAIMS, claim("3Gi"), [limits])
    with pytest.raises(
        StatusError, match="minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 5Mi"
    ):
        limitranger.check(CLAIMS, claim("5Mi"), [limits])
