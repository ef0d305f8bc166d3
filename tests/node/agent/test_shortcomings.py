"""What a node cannot do, in one line from its object."""

from __future__ import annotations

from typing import Any

from longshore.node import shortcomings


def node(*, notes: str = "", engines: tuple[str, ...] = ("", "process", "podman"), **conditions: Any) -> Any:
    return {
        "metadata": {"name": "n", "annotations": {"process.engines.longshore.dev/notes": notes}},
        "status": {
            "runtimeHandlers": [{"name": name} for name in engines],
            "conditions": [{"type": kind, **condition} for kind, condition in conditions.items()],
        },
    }


def test_a_node_that_can_do_all_has_nothing_to_say() -> None:
    assert shortcomings.words(node(Ready={"status": "True"}, DiskPressure={"status": "False"})) == ""


def test_what_engines_lack_becomes_one_line() -> None:
    notes = "CPU limits are not enforced: no cgroup was found. Volumes cannot be mounted: not permitted."
    assert shortcomings.words(node(notes=notes, engines=("", "process"))) == (
        "CPU limits are not enforced: no cgroup was found; volumes cannot be mounted: not permitted; "
        "there is no podman"
    )


def test_troubles_of_the_moment_come_first() -> None:
    ready = {"status": "False", "message": "container runtime is down: podman does not work here"}
    found = shortcomings.words(node(Ready=ready, DiskPressure={"status": "True"}))
    assert found == "container runtime is down: podman does not work here; its disk is nearly full"
