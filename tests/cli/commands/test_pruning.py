"""`apply --prune`: objects that were applied before and are no longer given are deleted."""

from __future__ import annotations

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")


def config(name: str, app: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{app: {app}}}}}}}\n"


def test_a_kustomization_is_left_to_kubectl(longshore: Command) -> None:
    done = longshore("apply", "-k", "overlays/prod")
    assert done.exit == 2
    assert (
        "argument -k: longshore builds no kustomizations; use: kubectl kustomize DIR | longshore apply -f -"
    ) in done.stderr
    assert longshore("apply").stderr == "error: must specify -f\n"


def test_prune_deletes_what_was_applied_before_and_is_no_longer_given(longshore: Command) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("p1", "web") + "---\n" + config("p2", "web"))
    longshore.ok("apply", "-f", "-", stdin=config("p3", "other"))
    made_by_others = "{apiVersion: v1, kind: ConfigMap, metadata: {name: p4, labels: {app: web}}}"
    longshore.ok("apply", "--field-manager", "others", "-f", "-", stdin=made_by_others)
    words = ("apply", "--prune", "-l", "app=web", "-f", "-")
    dry = longshore.ok(*words, "--dry-run=server", stdin=config("p1", "web"))
    assert dry == "configmap/p1 unchanged (server dry run)\nconfigmap/p2 pruned (server dry run)\n"
    done = longshore.ok(*words, stdin=config("p1", "web"))
    assert done == "configmap/p1 unchanged\nconfigmap/p2 pruned\n"
    names = longshore.ok("get", "cm", "-l", "app in (web, other)", "-o", "name").split()
    assert names == ["configmap/p1", "configmap/p3", "configmap/p4"]
    longshore.ok("delete", "cm", "-l", "app in (web, other)")


def test_prune_looks_at_the_kinds_asked_for(longshore: Command) -> None:
    account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: pruned, labels: {app: acc}}}"
    longshore.ok("apply", "-f", "-", stdin=account)
    words = ("apply", "--prune", "-l", "app=acc", "-f", "-")
    assert longshore.ok(*words, stdin=config("kept", "acc")) == "configmap/kept created\n"
    done = longshore.ok(*words, "--prune-allowlist=core/v1/ServiceAccount", stdin=config("kept", "acc"))
    assert done == "configmap/kept unchanged\nserviceaccount/pruned pruned\n"
    wrong = longshore(*words, "--prune-allowlist=ServiceAccount", stdin=config("kept", "acc"))
    assert "invalid GroupVersionKind format: ServiceAccount" in wrong.stderr


def test_prune_wants_to_know_what(longshore: Command) -> None:
    done = longshore("apply", "--prune", "-f", "-", stdin=config("x", "y"))
    assert done.exit == 2
    assert done.stderr.startswith("error: all resources selected for prune without explicitly passing --all.")


def test_a_selector_keeps_other_objects_of_the_files_out(longshore: Command) -> None:
    both = config("in", "chosen") + "---\n" + config("out", "not")
    assert longshore.ok("apply", "-l", "app=chosen", "-f", "-", stdin=both) == "configmap/in created\n"
    bad = longshore("apply", "-l", "a in b", "-f", "-", stdin=both)
    assert (bad.exit, bad.stderr.startswith("error: --selector: ")) == (2, True)
