"""Files of the machine's /tmp that a pod with a /tmp of its own names, and does not see."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from longshore.api.types import Obj
from longshore.node.preparing import security
from longshore.node.preparing.types import NodeFacts


@pytest.fixture
def script() -> Iterator[str]:
    with tempfile.NamedTemporaryFile(dir="/tmp", suffix=".sh") as file:
        yield file.name


def _warnings(container: Obj, level: str = "full") -> tuple[str, ...]:
    spec = {"containers": [{"name": "main", "image": "none", **container}]}
    node = NodeFacts("n", isolation=level)
    return security.warnings({"metadata": {"name": "p"}, "spec": spec}, node, strongest="full")


def test_a_file_in_the_command_the_arguments_or_as_working_directory_is_told_with_the_way_out(
    script: str,
) -> None:
    for container in (
        {"command": [script]},
        {"command": ["sh", "-c", f"cat <{script} | wc"]},
        {"command": ["sh"], "args": [f"--script={script}"]},
        {"command": ["pwd"], "workingDir": script},
    ):
        (warning,) = _warnings(container)
        assert warning.startswith(f"container main has a /tmp of its own and does not see {script} ")
        assert "hostPath" in warning
        assert "longshore.dev/isolation: process" in warning


def test_nothing_is_told_of_files_that_are_mounted_or_not_there_or_seen(script: str) -> None:
    assert _warnings({"command": [script], "volumeMounts": [{"name": "v", "mountPath": "/tmp/"}]}) == ()
    assert _warnings({"command": [script], "volumeMounts": [{"name": "v", "mountPath": script}]}) == ()
    assert _warnings({"command": ["sh", "-c", f"date >{script}.new"]}) == ()
    assert _warnings({"command": ["sh", "-c", f"date >/var{script}"]}) == ()
    assert _warnings({"command": [script]}, level="process") == ()
