"""`apply -k` and `--prune`: directories are built and applied, and what is no longer there is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")


def config(name: str, app: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{app: {app}}}}}}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: built}\nspec:\n  template:\n    spec:\n"
        "      restartPolicy: Never\n"
        "      containers: [{name: c, image: sh, command: [sh, -c, 'echo $A'], "
        "envFrom: [{configMapRef: {name: conf}}]}]\n"
    )
    (tmp_path / "kustomization.yaml").write_text(
        "namePrefix: k-\nresources: [job.yaml]\nconfigMapGenerator: [{name: conf, literals: [A=hello]}]\n"
    )
    return tmp_path


def test_a_directory_is_built_applied_run_and_deleted(longshore: Command, folder: Path) -> None:
    first, second = longshore.ok("apply", "-k", str(folder)).splitlines()
    assert first.startswith("configmap/k-conf-")
    assert second == "job.batch/k-built created"
    longshore.ok("wait", "--for=done", "job/k-built")
    assert longshore.ok("logs", "job/k-built") == "hello\n"
    assert longshore("diff", "-k", str(folder)).exit == 0
    assert longshore.ok("get", "-k", str(folder), "-o", "name").splitlines()[1] == "job.batch/k-built"
    assert 'job.batch "k-built" deleted' in longshore.ok("delete", "-k", str(folder))


def test_kustomize_prints_what_apply_applies(longshore: Command, folder: Path) -> None:
    text = longshore.ok("kustomize", str(folder))
    assert longshore.ok("apply", "--dry-run", "-f", "-", stdin=text) == longshore.ok(
        "apply", "--dry-run", "-k", str(folder)
    )


def test_files_and_a_directory_exclude_each_other(longshore: Command, folder: Path) -> None:
    done = longshore("apply", "-k", str(folder), "-f", "x.yaml")
    assert (done.exit, done.stderr) == (2, "error: only one of -f or -k can be specified\n")
    assert longshore("apply").stderr == "error: must specify one of -f and -k\n"


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
