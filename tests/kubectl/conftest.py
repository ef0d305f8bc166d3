"""A longshore for each module, and for each test a kubectl that stands in a namespace of its own."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.kubectl_binary import Kubectl
from support.longshore_process import RunningLongshore, longshore_up

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    """With what fills new namespaces and empties old ones; nothing else moves what a test has made."""
    with longshore_up("--no-node", "--no-scheduler", "--controllers", "namespace,serviceaccount") as running:
        yield running


@pytest.fixture(scope="module")
def kubectl_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where discovery stays cached from test to test, as it does for a person."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def namespace(longshore: RunningLongshore) -> str:
    name = f"space-{next(_numbers)}"
    longshore.made("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return name


@pytest.fixture
def kubectl(longshore: RunningLongshore, kubectl_home: Path, namespace: str) -> Kubectl:
    config = copy.deepcopy(longshore.config)
    config["contexts"][0]["context"]["namespace"] = namespace
    file = kubectl_home / f"kubeconfig-{namespace}"
    file.write_text(yaml.safe_dump(config))
    return Kubectl(kubectl_home, file)
