"""`get --sort-by` orders rows, names and documents alike, and as kubectl does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")

SIZES = {"large": "10Gi", "middle": "9Gi", "small": "500Mi"}


@pytest.fixture(scope="module", autouse=True)
def boxes(longshore: Command) -> Iterator[None]:
    box = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, labels: {{box: x}}}}\ndata: {{size: {}}}\n"
    longshore.ok("apply", "-f", "-", stdin="---\n".join(box.format(*each) for each in SIZES.items()))
    yield
    longshore.ok("delete", "configmap", "-l", "box=x")


@pytest.mark.parametrize("output", ["name", "custom-columns=N:.metadata.name", "wide"])
def test_quantities_are_sorted_by_their_amounts(longshore: Command, output: str) -> None:
    words = "get", "cm", "-l", "box=x", "--sort-by=.data.size", "--no-headers", "-o", output
    lines = [line.split()[0].removeprefix("configmap/") for line in longshore.ok(*words).splitlines()]
    assert [line for line in lines if line != "N"] == ["small", "middle", "large"]
