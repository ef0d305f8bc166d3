"""Custom resources: what /status may write, and when the generation moves."""

from __future__ import annotations

from longshore.api import types
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.strategy import Context
from longshore.api.types import Obj

CONTEXT = Context("2021-01-01T00:00:00Z")
OLD: Obj = {"metadata": {"name": "x", "uid": "u"}, "spec": {"a": 1}, "status": {"phase": "Pending"}}


def row(kind: str) -> Resource:
    return next(r for r in table.RESOURCES if r.style == "custom" and r.kind == kind)


def test_a_write_to_status_changes_status_and_managed_fields_alone() -> None:
    new = types.copy_of(OLD)
    new["metadata"].update(labels={"a": "b"}, managedFields=[{"manager": "m"}])
    new["spec"]["a"] = 2
    new["extra"] = True
    new["status"] = {"phase": "Running"}
    row("Job").strategy.prepare_status(new, OLD, CONTEXT)
    assert new == {
        "metadata": {"name": "x", "uid": "u", "managedFields": [{"manager": "m"}]},
        "spec": {"a": 1},
        "status": {"phase": "Running"},
    }


def test_the_generation_moves_with_all_but_metadata_and_status() -> None:
    strategy = row("Job").strategy
    assert strategy.generation_changed({**OLD, "spec": {}}, OLD)
    assert strategy.generation_changed({**OLD, "other": 1}, OLD)
    assert not strategy.generation_changed({**OLD, "status": {}, "metadata": {}}, OLD)


def test_a_pod_groups_status_is_part_of_it() -> None:
    strategy = row("PodGroup").strategy
    assert not strategy.has_status
    assert strategy.generation_changed({**OLD, "status": {}}, OLD)
    created = types.copy_of(OLD)
    strategy.prepare_create(created, CONTEXT)
    assert created["status"] == OLD["status"]


def test_every_put_must_name_a_version() -> None:
    custom = [r for r in table.RESOURCES if r.style == "custom"]
    assert len(custom) == 8
    assert not any(r.strategy.unconditional_update or r.strategy.create_on_update for r in custom)
