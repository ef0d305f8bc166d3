"""A mistake in a kustomization is an error that names the file and the field; nothing is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.cli.kustomize import kustomize_build
from longshore.cli.main import Said

CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"


def refusal(folder: Path, text: str) -> str:
    (folder / "kustomization.yaml").write_text(text)
    (folder / "c.yaml").write_text(CONFIG)
    (folder / "unnamed.yaml").write_text("{apiVersion: batch/v1, kind: Job, metadata: {generateName: x-}}")
    with pytest.raises(Said) as caught:
        kustomize_build.build(folder)
    assert caught.value.code == 2
    return str(caught.value).removeprefix(f"error: {folder}/kustomization.yaml: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resorces: [c.yaml]", "resorces: there is no such field; did you mean 'resources'?"),
        ("resources: c.yaml", "resources: must be a list, not 'c.yaml'"),
        ("helmCharts: []", "helmCharts: not supported here; use: kubectl kustomize | longshore apply -f -"),
        ("- a", "a kustomization is a map of fields, such as resources"),
        ("resources: [", "not YAML: "),
        ("kind: Deployment", "is a Deployment of , not a Kustomization"),
        ("resources: [none.yaml]", "cannot read none.yaml: No such file or directory"),
        ("resources: [../out.yaml]", "../out.yaml: a file must be in or below "),
        ("resources: [https://example.org/x]", "only files and directories of this machine are read"),
        ("resources: [c.yaml, c.yaml]", 'ConfigMap v1 "c" is there twice'),
        ("resources: [unnamed.yaml]", "unnamed.yaml: a Job has no metadata.name"),
        ("resources: [.]", "it is among its own resources, by way of "),
        ("images: [{name: x, tag: y}]", "images[0].tag: there is no such field"),
        ("configMapGenerator: [{literals: [a=b]}]", "configMapGenerator[0].name: a name is needed"),
        ("configMapGenerator: [{name: x, literals: [a]}]", "x: the literal 'a' must be KEY=VALUE"),
        ("configMapGenerator: [{name: x, literals: [a=1, a=2]}]", "x: the key a is there twice"),
        (
            "configMapGenerator: [{name: x, behavior: merge}]",
            "configMapGenerator[0]: there is no ConfigMap 'x' to merge",
        ),
        ("replicas: [{name: x, count: 1}]", "replicas[0]: nothing with replicas is called 'x'"),
        ("patches: [{target: {kind: Job}}]", "patches[0]: give either path or patch"),
        ("patches: [{patch: '[]'}]", "patches[0].target: a JSON patch needs a target"),
        (
            f"patches: [{{patch: '{CONFIG}'}}]",
            'patch of ConfigMap v1 "c": there is no object of this name',
        ),
        (
            "resources: [c.yaml]\npatches: [{target: {kind: '('}, patch: '{}'}]",
            "target {'kind': '('}: ",
        ),
        (
            "resources: [c.yaml]\n"
            "patches: [{target: {kind: ConfigMap}, patch: '[{op: remove, path: /data/x}]'}]",
            'patches[0]: patch of ConfigMap v1 "c": ',
        ),
        (
            "resources: [c.yaml]\n"
            "patches: [{target: {kind: ConfigMap}, patch: '{data: {$retainKeys: [a]}}'}]",
            'patch of ConfigMap v1 "c": $retainKeys: not supported',
        ),
    ],
)
def test_it_is_named(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path, text)


def test_a_directory_without_a_kustomization_is_named(tmp_path: Path) -> None:
    with pytest.raises(Said, match=r"no kustomization\.yaml, kustomization\.yml, Kustomization in it"):
        kustomize_build.build(tmp_path)
    with pytest.raises(Said, match="not a directory"):
        kustomize_build.build(tmp_path / "none")


def test_long_secrets_are_whole_and_cluster_wide_kinds_get_no_namespace(tmp_path: Path) -> None:
    queue = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q}}"
    (tmp_path / "q.yaml").write_text(queue)
    (tmp_path / "kustomization.yaml").write_text(
        f"namespace: space\nresources: [q.yaml]\nsecretGenerator: [{{name: s, literals: [k={'x' * 200}]}}]"
    )
    secret, found = kustomize_build.build(tmp_path)
    assert "\n" not in secret["data"]["k"]
    assert "namespace" not in found["metadata"]
