"""The container that logs, attach and cp mean: pure."""

from __future__ import annotations

from argparse import Namespace

import pytest

from longshore.cli.arguments import pod_choice
from longshore.cli.main import Said
from longshore.cli.showing import log_tail

POD = {
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {
        "initContainers": [{"name": "fetch"}],
        "containers": [{"name": "main"}],
        "ephemeralContainers": [{"name": "debugger"}],
    },
}


@pytest.mark.parametrize("name", ["fetch", "main", "debugger"])
def test_every_container_of_the_pod_can_be_named_also_one_of_kubectl_debug(name: str) -> None:
    assert pod_choice.container(POD, name) == name


def test_without_a_name_it_is_the_first_and_the_others_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert pod_choice.container(POD, "") == "main"
    told = 'Defaulted container "main" out of: main, debugger (ephem), fetch (init)\n'
    assert capsys.readouterr().err == told


def test_a_name_of_no_container_is_refused() -> None:
    with pytest.raises(Said, match="container nope is not valid for pod p"):
        pod_choice.container(POD, "nope")


def test_all_containers_are_those_of_kubectl_debug_too() -> None:
    found = log_tail.sources(POD, Namespace(all_containers=True, container=""))
    assert [source.container for source in found] == ["fetch", "main", "debugger"]
