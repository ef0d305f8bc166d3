"""Printer columns of custom resources, and the JSONPath they are found by."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from longshore.api import jsonpath
from longshore.api.kinds import table as kinds
from longshore.api.resources import PrinterColumn, Resource
from longshore.api.strategy import Strategy
from longshore.apiserver import tables

NOW = datetime(2025, 6, 1, 12, 0, 0, tzinfo=UTC)
WIDGETS = Resource("acme.io", "v1", "Widget", "widgets", "widget", True, Strategy(), style="custom")
WIDGET: dict[str, Any] = {
    "metadata": {
        "name": "w",
        "creationTimestamp": "2025-06-01T11:00:00Z",
        "annotations": {"a.b/c": "dotted"},
    },
    "spec": {
        "size": 3,
        "ratio": 1.5,
        "on": True,
        "when": "2025-06-01T11:58:00Z",
        "tags": ["x", "y"],
        "none": None,
        "big": 1234567.5,
        "round": 3.0,
        "map": {"b": "<", "a": 1},
    },
    "status": {"conditions": [{"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]},
}


def cell(type: str, path: str) -> Any:
    resource = msgspec.structs.replace(WIDGETS, columns=(PrinterColumn("X", type, path),))
    (row,) = tables.rows(resource, [WIDGET], "None", NOW)
    name, found = row["cells"]
    assert name == "w"
    return found


@pytest.mark.parametrize(
    ("type", "path", "want"),
    [
        ("integer", ".spec.size", 3),
        ("integer", ".spec.ratio", 1),
        ("integer", ".metadata.name", None),
        ("integer", ".spec.on", None),
        ("number", ".spec.size", 3.0),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.size", None),
        ("string", ".spec.size", "3"),
        ("string", ".spec.ratio", "1.5"),
        ("string", ".spec.on", "true"),
        ("string", ".spec.tags", '["x","y"]'),
        ("string", ".spec.big", "1234567.5"),
        ("string", ".spec.round", "3"),
        ("string", ".spec.map", '{"a":1,"b":"<"}'.replace("<", "\\u003c")),
        ("string", ".spec.missing.deeper", None),
        ("date", ".spec.when", "2m"),
        ("date", ".metadata.name", "<invalid>"),
        ("date", ".spec.size", None),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
        ("string", ".status.conditions[?(@.type=='Gone')].status", None),
        ("string", ".metadata.annotations.a\\.b/c", "dotted"),
        ("string", ".metadata.annotations['a.b/c']", "dotted"),
        ("string", ".spec.tags[*]", "x"),
        ("string", ".spec.tags[-1]", "y"),
    ],
)
def test_a_cell_has_its_columns_type_or_is_empty(type: str, path: str, want: Any) -> None:
    found = cell(type, path)
    assert found == want
    assert isinstance(found, bool) == isinstance(want, bool)


def test_a_definition_without_columns_shows_the_age() -> None:
    assert [(c["name"], c["type"]) for c in tables.columns(WIDGETS)] == [("Name", "string"), ("Age", "date")]
    (row,) = tables.rows(WIDGETS, [WIDGET], "None", NOW)
    assert row["cells"] == ["w", "60m"]


def test_columns_keep_what_the_definition_says_of_them() -> None:
    own = PrinterColumn("Size", "integer", ".spec.size", format="int32", description="How big.", priority=1)
    assert tables.columns(msgspec.structs.replace(WIDGETS, columns=(own,)))[1] == {
        "name": "Size",
        "type": "integer",
        "format": "int32",
        "description": "How big.",
        "priority": 1,
    }


def test_a_column_nobody_can_read_hides_only_itself_and_what_follows() -> None:
    columns = (PrinterColumn("A", "integer", ".spec.size"), PrinterColumn("B", "string", ".spec[?("))
    resource = msgspec.structs.replace(WIDGETS, columns=columns)
    assert [c["name"] for c in tables.columns(resource)] == ["Name", "A"]
    assert tables.rows(resource, [WIDGET], "None", NOW)[0]["cells"] == ["w", 3]


def test_volcano_kinds_bring_their_columns() -> None:
    jobs = kinds.find("batch.volcano.sh", "v1alpha1", "jobs")
    assert jobs is not None
    assert [(c["name"], c["priority"]) for c in tables.columns(jobs)] == [
        ("Name", 0),
        ("STATUS", 0),
        ("minAvailable", 0),
        ("RUNNINGS", 0),
        ("AGE", 0),
        ("QUEUE", 1),
    ]


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("{.spec.size}", [3]),
        ("$.spec.size", [3]),
        (".spec.tags[0:2]", ["x", "y"]),
        (".spec.tags[0,1]", ["x", "y"]),
        (".spec.tags[5]", []),
        ("['spec']['size']", [3]),
        (".status.conditions[*].type", ["Synced", "Ready"]),
        (".status.conditions[?(@.type!='Ready')].type", ["Synced"]),
        (".status.conditions[?(@.status)].type", ["Synced", "Ready"]),
        (".spec.none", [None]),
        ("..type", ["Synced", "Ready"]),
        ("..conditions[1].type", ["Ready"]),
        ("..conditions[2].type", []),
        ("..status..type", ["Synced", "Ready"]),
    ],
)
def test_paths_find_every_value_in_order(path: str, want: list[Any]) -> None:
    assert jsonpath.parse(path).find(WIDGET) == want


@pytest.mark.parametrize(
    "path",
    [
        "...name",
        ".spec[",
        ".spec[x]",
        ".a[?(@.b==c)]",
        ".a]",
        ".spec.tags[::0]",
        ".spec.tags[-:]",
        ".spec.tags[1:0:-1]",
        ".spec.tags[" + "9" * 5000 + "]",
        ".spec.tags[:" + "9" * 5000 + "]",
        ".a[?(@.b=~'c')]",
    ],
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(jsonpath.JSONPathError):
        jsonpath.parse(path)


MULTIPLYING = {
    "unions that double": ".spec" + "['map','map']" * 30,
    "a long union": ".spec.tags[" + "0," * 100 + "0]",
    "everything below, again and again": "..spec" * 10,
    "filters within filters": ".a" + "[?(@.b" * 100 + ")]" * 100,
    "a long path": ".a" * 600,
}


@pytest.mark.parametrize("path", MULTIPLYING.values(), ids=MULTIPLYING.keys())
def test_a_path_that_multiplies_what_it_finds_is_refused_and_leaves_its_column_out(path: str) -> None:
    with pytest.raises(jsonpath.JSONPathError):
        jsonpath.parse(path)
    columns = (PrinterColumn("Size", "integer", ".spec.size"), PrinterColumn("X", "string", path))
    (row,) = tables.rows(msgspec.structs.replace(WIDGETS, columns=columns), [WIDGET], "None", NOW)
    assert row["cells"] == ["w", 3]
