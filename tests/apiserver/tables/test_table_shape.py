"""What surrounds the cells: columns only once, the object in each row, the refusals."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import table as kinds
from longshore.apiserver import tables
from longshore.apiserver.documents import metadata_only

NOW = datetime(2025, 6, 1, 12, 0, 30, tzinfo=UTC)
JOBS = next(r for r in kinds.RESOURCES if r.qualified == "jobs.batch")
JOB: dict[str, Any] = {
    "metadata": {"name": "j", "namespace": "ns", "creationTimestamp": "2025-06-01T12:00:00Z"},
    "spec": {"completions": 1},
    "status": {},
}


def test_a_row_carries_the_metadata_unless_told_otherwise() -> None:
    table = tables.table(JOBS, [JOB], {"resourceVersion": "7"}, "Metadata", NOW)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": "7"}
    assert table["rows"][0]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": JOB["metadata"],
    }


def test_a_row_carries_the_whole_object_on_request() -> None:
    (row,) = tables.rows(JOBS, [JOB], "Object", NOW)
    assert row["object"] == {"kind": "Job", "apiVersion": "batch/v1", **JOB}


def test_a_row_without_an_object_says_null() -> None:
    (row,) = tables.rows(JOBS, [JOB], "None", NOW)
    assert row == {"cells": ["j", "Running", "0/1", "", "30s", "", "", "<none>"], "object": None}


def test_later_tables_of_a_watch_have_null_columns() -> None:
    assert tables.table(JOBS, [JOB], {}, "None", NOW, with_columns=False)["columnDefinitions"] is None


def test_the_older_version_of_table_is_older_all_through() -> None:
    table = tables.table(JOBS, [JOB], {}, "Metadata", NOW, group_version="meta.k8s.io/v1beta1")
    assert table["apiVersion"] == table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_an_empty_list_is_a_table_with_no_rows() -> None:
    assert tables.table(JOBS, [], {}, "Metadata", NOW)["rows"] == []


def test_a_bookmark_has_a_row_of_blanks() -> None:
    bookmark = {"metadata": {"resourceVersion": "7"}}
    (row,) = tables.rows(JOBS, [bookmark], "None", NOW)
    assert row["cells"] == ["", "Running", "0/1", "", "<unknown>", "", "", "<none>"]


@pytest.mark.parametrize("resource", kinds.RESOURCES, ids=lambda r: r.qualified)
def test_every_kind_has_as_many_cells_as_columns_even_for_an_empty_object(resource: Any) -> None:
    (row,) = tables.rows(resource, [{"metadata": {}}], "None", NOW)
    assert len(row["cells"]) == len(tables.columns(resource))
    assert tables.columns(resource)[0]["name"] in ("Name", "Last Seen")


def test_an_unknown_includeobject_is_refused() -> None:
    with pytest.raises(StatusError) as refused:
        tables.include_of("Everything")
    assert refused.value.code == 400
    assert refused.value.message == (
        "Unable to convert to Table as requested: includeObject: Invalid value: "
        "\"Everything\": must be 'Metadata', 'Object', 'None', or empty"
    )
    assert tables.include_of("") == "Metadata"


def test_kinds_without_columns_of_their_own_show_when_they_were_created() -> None:
    limits = kinds.find("", "v1", "limitranges")
    assert limits is not None
    assert [c["name"] for c in tables.columns(limits)] == ["Name", "Created At"]
    (row,) = tables.rows(limits, [JOB], "None", NOW)
    assert row["cells"] == ["j", "2025-06-01T12:00:00Z"]


def test_partial_metadata_of_a_list_keeps_the_lists_metadata() -> None:
    made = metadata_only.items([JOB], {"resourceVersion": "7", "continue": "x"}, "meta.k8s.io/v1")
    assert made["kind"] == "PartialObjectMetadataList"
    assert made["metadata"] == {"resourceVersion": "7", "continue": "x"}
    assert made["items"] == [metadata_only.item(JOB, "meta.k8s.io/v1")]


@pytest.mark.parametrize(
    ("transform", "is_list", "message"),
    [
        (
            "PartialObjectMetadata",
            True,
            "you requested PartialObjectMetadata, but the requested object is a list (*batch.JobList)",
        ),
        (
            "PartialObjectMetadataList",
            False,
            "you requested PartialObjectMetadataList, but the requested object is not a list (*batch.Job)",
        ),
    ],
)
def test_item_and_list_forms_are_not_interchangeable(transform: str, is_list: bool, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        metadata_only.check(transform, JOBS, is_list=is_list)
    assert (refused.value.code, refused.value.reason, refused.value.message) == (
        406,
        "NotAcceptable",
        message,
    )
    metadata_only.check(transform, JOBS, is_list=not is_list)


def test_an_event_reads_the_same_in_both_groups() -> None:
    both = [
        next(r for r in kinds.RESOURCES if r.qualified == name) for name in ("events", "events.events.k8s.io")
    ]
    older = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Job", "name": "j", "fieldPath": "spec"},
        "message": "m ",
        "reason": "R",
        "type": "Normal",
        "source": {"component": "c", "host": "h"},
        "firstTimestamp": "2025-06-01T11:00:00Z",
        "lastTimestamp": "2025-06-01T12:00:00Z",
        "count": 2,
    }
    newer = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Job", "name": "j", "fieldPath": "spec"},
        "note": "m ",
        "reason": "R",
        "type": "Normal",
        "deprecatedSource": {"component": "c", "host": "h"},
        "deprecatedFirstTimestamp": "2025-06-01T11:00:00Z",
        "deprecatedLastTimestamp": "2025-06-01T12:00:00Z",
        "deprecatedCount": 2,
    }
    want = ["30s", "Normal", "R", "job/j", "spec", "c, h", "m", "60m", 2, "e"]
    for resource, event in zip(both, (older, newer), strict=True):
        assert tables.rows(resource, [event], "None", NOW)[0]["cells"] == want
