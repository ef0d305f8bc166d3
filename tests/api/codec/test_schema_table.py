"""The table of facts is read as one, however many files it comes in."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.api import schema


def test_a_kind_leads_to_its_message() -> None:
    assert schema.message_for("batch/v1", "Job") == "batch/v1.Job"
    assert schema.message_for("batch/v2", "Job") is None
    assert schema.message("batch/v1.Job").is_kind
    assert not schema.message("batch/v1.JobSpec").is_kind


def test_every_message_can_be_built_and_refers_only_to_messages_that_exist() -> None:
    for message_id in schema.kinds().values():
        todo, seen = [message_id], {message_id}
        while todo:
            for field in schema.message(todo.pop()).own:
                kind = field.type
                while kind.element is not None:
                    kind = kind.element
                if kind.kind == "message" and kind.name not in seen:
                    assert schema.has(kind.name), kind.name
                    seen.add(kind.name)
                    todo.append(kind.name)


def test_types_are_parsed_into_their_parts() -> None:
    found = schema.parse_type("map<string,list<core/v1.Pod>>")
    assert (found.kind, found.items.kind, found.items.items.kind) == ("map", "list", "message")
    assert schema.parse_type("Quantity").kind == "special"
    assert schema.parse_type("int32").kind == "scalar"


def test_inlined_fields_stand_among_those_of_the_outer_message() -> None:
    volume = schema.message("core/v1.Volume")
    assert list(volume.fields)[:3] == ["name", "hostPath", "emptyDir"]
    assert [f.inline for f in volume.own] == [False, True]


def test_fields_know_how_they_merge() -> None:
    containers = schema.message("core/v1.PodSpec").fields["containers"]
    assert (containers.patch_strategies, containers.patch_merge_key) == (("merge",), "name")
    assert (containers.list_type, containers.list_map_keys) == ("map", ("name",))
    assert schema.message("core/v1.PodSpec").fields["volumes"].patch_strategies == ("merge", "retainKeys")
    assert schema.message("meta/v1.LabelSelector").map_type == "atomic"


@pytest.fixture
def _fresh_tables() -> object:
    caches = (schema._table, schema._kind_messages, schema.message)
    for cached in caches:
        cached.cache_clear()
    yield None
    for cached in caches:
        cached.cache_clear()


@pytest.mark.usefixtures("_fresh_tables")
def test_a_second_table_adds_kinds_and_a_missing_one_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = Path(schema.__file__).parent / "data"
    more = tmp_path / "more.json"
    more.write_text(
        '{"kinds":{"x.io/v1 Thing":"x/v1.Thing"},"messages":{"x/v1.Thing":{"fields":['
        '{"json":"metadata","type":"meta/v1.ObjectMeta","omitempty":true},{"json":"size","type":"int32"}]}}}'
    )
    monkeypatch.setattr(schema, "TABLES", (str(data / "kubernetes.json"), str(more), "missing.json"))
    assert schema.message_for("x.io/v1", "Thing") == "x/v1.Thing"
    assert schema.message("x/v1.Thing").fields["size"].number == 0
    assert schema.has("batch/v1.Job")
