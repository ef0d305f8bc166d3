"""Which kubeconfig files count, how they merge, and what is said of broken ones."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.client.config import connection, kubeconfig
from longshore.client.errors import ConfigError


def config(server: str = "https://one:6443", name: str = "one", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {"token": f"token-of-{name}"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
        **more,
    }


def written(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_the_named_file_counts_alone(tmp_path: Path) -> None:
    written(tmp_path / "other", config(name="other"))
    named = written(tmp_path / "named", config())
    merged = kubeconfig.load(named, {"KUBECONFIG": str(tmp_path / "other")})
    assert list(merged.contexts) == ["one"]


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kubeconfig .*/nope: no such file"):
        kubeconfig.load(tmp_path / "nope", {})


def test_the_first_file_of_the_variable_wins_and_missing_ones_are_skipped(tmp_path: Path) -> None:
    a = written(tmp_path / "a", config("https://first:1", "x"))
    b = written(tmp_path / "b", config("https://second:2", "x") | {"current-context": "y"})
    c = written(tmp_path / "c", config("https://third:3", "y"))
    merged = kubeconfig.load(None, {"KUBECONFIG": f"{a}:{tmp_path / 'gone'}::{b}:{c}"})
    assert merged.clusters["x"].text("server") == "https://first:1"
    assert set(merged.clusters) == {"x", "y"}
    assert merged.current_context == "x"
    assert merged.files == [a, b, c]


def test_without_the_variable_the_file_in_the_home_directory_counts(tmp_path: Path) -> None:
    written(tmp_path / ".kube" / "config", config())
    assert list(kubeconfig.load(None, {"HOME": str(tmp_path)}).contexts) == ["one"]


def test_file_names_inside_are_relative_to_the_file_that_has_them(tmp_path: Path) -> None:
    written(tmp_path / "deep" / "ca.crt", "the authority")
    path = written(tmp_path / "deep" / "config", config())
    entry = kubeconfig.load(path, {}).clusters["one"]
    entry.content["certificate-authority"] = "ca.crt"
    assert entry.data("certificate-authority") == b"the authority"


def test_inlined_data_wins_over_a_file(tmp_path: Path) -> None:
    entry = kubeconfig.load(written(tmp_path / "c", config()), {}).clusters["one"]
    entry.content["certificate-authority"] = "/nowhere"
    entry.content["certificate-authority-data"] = base64.b64encode(b"inlined").decode()
    assert entry.data("certificate-authority") == b"inlined"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- a\n- b\n", "must be a mapping with clusters, users and contexts"),
        ("a: [", "not YAML: while parsing"),
        ({"kind": "Pod", "apiVersion": "v1"}, "is a Pod of v1, not a Config of v1"),
        ({"clusters": {}}, "clusters: must be a list"),
        ({"users": [{"user": {}}]}, r"users\[0\]: must be a mapping with a name"),
        ({"contexts": [{"name": "a", "context": []}]}, r"contexts\[0\]\.context: must be a mapping"),
        ({"current-context": 7}, "current-context: must be a string, not 7"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path: Path, content: Any, message: str) -> None:
    path = written(tmp_path / "broken", content)
    with pytest.raises(ConfigError, match=f"kubeconfig {path}: {message}"):
        kubeconfig.load(path, {})


def test_an_empty_file_is_an_empty_config(tmp_path: Path) -> None:
    assert kubeconfig.load(written(tmp_path / "empty", ""), {}).empty


def test_no_config_anywhere_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no kubeconfig found.*longshore up.*--kubeconfig"):
        connection.from_kubeconfig(environ={"HOME": str(tmp_path)})
