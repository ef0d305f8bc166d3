"""Strategic merge patch: directives, order, and their errors."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api.patch import strategic
from longshore.api.patch.strategic_lists import PatchError, PatchFormat

NAMES = st.sampled_from("abcd")
VALUES = st.sampled_from(["1", "2"])


def items(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(inner, unique_by=lambda i: i["name"], max_size=4)


PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {
                "labels": st.dictionaries(NAMES, VALUES, max_size=3),
                "finalizers": st.lists(st.sampled_from(["x/a", "x/b", "x/c"]), unique=True, max_size=3),
            }
        ),
        "spec": st.fixed_dictionaries(
            {
                "containers": items(
                    st.fixed_dictionaries(
                        {
                            "name": NAMES,
                            "image": VALUES,
                            "args": st.lists(VALUES, max_size=2),
                            "env": items(st.fixed_dictionaries({"name": NAMES, "value": VALUES})),
                        }
                    )
                )
            }
        ),
    }
)


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The strategic merge patch from one pod to another, as kubectl would write it."""
    out: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        before = old.get(key)
        if not value and not before:
            continue
        if key in ("containers", "env"):
            gone = [{"name": i["name"], "$patch": "delete"} for i in before or []]
            kept = {i["name"] for i in value}
            known = {i["name"]: i for i in before or []}
            patch = [
                {**difference(known[i["name"]], i), "name": i["name"]} if i["name"] in known else dict(i)
                for i in value
            ]
            out[key] = patch + [g for g in gone if g["name"] not in kept]
            out[f"$setElementOrder/{key}"] = [{"name": i["name"]} for i in value]
        elif key == "finalizers":
            out[key] = value
            out["$deleteFromPrimitiveList/finalizers"] = [v for v in before or [] if v not in value]
            out["$setElementOrder/finalizers"] = value
        elif isinstance(value, dict) and isinstance(before, dict):
            out[key] = difference(before, value)
        else:
            out[key] = value
    return out


def full(value: Any) -> Any:
    """A pod without the empty parts, which no one can tell from missing ones."""
    if isinstance(value, dict):
        return {k: inner for k, v in value.items() if (inner := full(v)) not in ([], {})}
    return [full(v) for v in value] if isinstance(value, list) else value


@settings(max_examples=60, deadline=None)
@given(PODS, PODS)
def test_the_patch_of_a_difference_gives_the_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = repr(old)
    got = strategic.merged(old, difference(old, new), "core/v1.Pod")
    assert full(got) == full(new)
    assert repr(old) == before


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def run(original: dict[str, Any], patch: dict[str, Any], message: str = "core/v1.Pod") -> dict[str, Any]:
    return strategic.merged(original, copy.deepcopy(patch), message)


def containers(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": n, **more} for n in names]


@pytest.mark.parametrize(
    ("live", "patch", "want"),
    [
        ("abc", [{"name": "d"}], "dabc"),
        ("abc", [{"name": "b"}, {"name": "d"}], "abdc"),
        ("abc", [{"name": "d"}, {"name": "b"}], "dabc"),
        ("abc", [{"name": "c"}, {"name": "a"}], "bca"),
        ("abc", [{"name": "b", "$patch": "delete"}, {"name": "d"}], "dac"),
        ("abc", [{"$patch": "replace"}], ""),
        ("abc", [{"name": "z"}, {"$patch": "replace"}, {"name": "y"}], "zy"),
    ],
)
def test_items_end_up_in_the_order_of_the_patch_within_that_of_the_list(
    live: str, patch: list[Any], want: str
) -> None:
    got = run(pod(containers=containers(*live)), pod(containers=patch))
    assert "".join(c["name"] for c in got["spec"]["containers"]) == want


def test_the_order_directive_goes_before_all_other_orders() -> None:
    order = {"$setElementOrder/containers": containers("c", "x", "a")}
    got = run(pod(containers=containers("a", "b", "c")), pod(containers=containers("x"), **order))
    assert [c["name"] for c in got["spec"]["containers"]] == ["b", "c", "x", "a"]


def test_a_map_can_be_replaced_or_emptied() -> None:
    live = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    assert run(live, {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}) == {
        "metadata": {"labels": {"c": "3"}}
    }
    assert run(live, {"metadata": {"labels": {"$patch": "delete"}}}) == {"metadata": {"labels": {}}}


def test_a_field_that_is_new_takes_no_nulls_and_no_directives() -> None:
    patch = {"metadata": {"labels": {"a": None, "b": "1"}, "annotations": {"$patch": "explode", "x": "1"}}}
    assert run({"metadata": {}}, patch) == {"metadata": {"labels": {"b": "1"}}}


def test_a_field_with_strategy_replace_is_replaced() -> None:
    live = pod(selector={"matchLabels": {"a": "1"}})
    patch = pod(selector={"matchExpressions": []})
    assert run(live, patch, "policy/v1.PodDisruptionBudget") == patch


def test_retained_keys_drop_all_others() -> None:
    live = pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}])
    patch = pod(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}])
    assert run(live, patch) == pod(volumes=[{"name": "v", "hostPath": {"path": "/x"}}])


def test_scalars_are_joined_once_and_deleted_by_value() -> None:
    live = {"metadata": {"finalizers": ["x/a", "x/b"]}}
    assert run(live, {"metadata": {"finalizers": ["x/b", "x/c"]}}) == {
        "metadata": {"finalizers": ["x/a", "x/b", "x/c"]}
    }
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/a", "x/z"]}}
    assert run(live, patch) == {"metadata": {"finalizers": ["x/b"]}}
    assert run({"metadata": {}}, patch) == {"metadata": {}}


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        (pod(containers=[{"image": "x"}]), "map: map[image:x] does not contain declared merge key: name"),
        (pod(containers=[{"name": "a", "$patch": "explode"}]),
         "unknown patch type: explode in map: map[$patch:explode name:a]"),
        (pod(containers=[{"name": "a", "$patch": 1}]),
         "unknown patch type: %!s(int64=1) in map: map[$patch:1 name:a]"),
        (pod(containers=[{"name": "a", "$patch": "merge"}]),
         "merging lists cannot yet be specified in the patch"),
        (pod(containers=["a"]), "list element types are not identical: [[map[name:a]] [a]]"),
        (pod(**{"$setElementOrder/containers": "a"}),
         "expected a []interface {}, but received a string"),
        (pod(**{"$setElementOrder/nope": ["a"]}),
         'unable to find api field in struct PodSpec for the json field "nope"'),
        (pod(**{"$setElementOrder/containers": containers("b"), "containers": containers("a")}),
         "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n"),
    ],
)  # fmt: skip
def test_a_patch_that_cannot_be_carried_out_says_why(patch: dict[str, Any], text: str) -> None:
    with pytest.raises(PatchError) as found:
        run(pod(containers=containers("a")), patch)
    assert str(found.value) == text
    assert not isinstance(found.value, PatchFormat)


@pytest.mark.parametrize(
    ("patch", "text", "code"),
    [
        ({"metadata": {"$retainKeys": "a"}}, "invalid patch format of retainKeys", 400),
        ({"metadata": {"$retainKeys": ["a"], "b": 1}}, "invalid patch format of retainKeys", 400),
        ({"metadata": {"$deleteFromPrimitiveList": ["a"]}}, "invalid patch format of primitive list", 400),
        ({"metadata": {"$setElementOrder": ["a"]}}, "invalid patch format of setElementOrder list", 400),
        ({"metadata": {"finalizers": [["a"]]}}, "lists of lists are not supported", 422),
    ],
)
def test_a_malformed_directive_is_the_clients_mistake(patch: dict[str, Any], text: str, code: int) -> None:
    with pytest.raises(PatchFormat, match=text) as found:
        run({"metadata": {"finalizers": []}}, patch)
    assert found.value.code == code
