"""`longshore cron next`: when a schedule fires, for people and row by row for programs."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from longshore.cli.main import main
from support.places import RECORDED

VECTORS = RECORDED / "vectors/cron.jsonl"


@pytest.fixture(autouse=True)
def _in_berlin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["cron", "next", *words]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *words: str, code: int = 2) -> str:
    assert main(["cron", "next", *words]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_runs_are_shown_in_both_zones_and_a_skipped_one_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("30 2 * * *", "--zone", "America/New_York", "--after", "2026-03-07T00:00:00Z", "-n", "3")
    assert shown(capsys, *words) == [
        "SCHEDULED (America/New_York)   LOCAL (Europe/Berlin)         NOTE",
        "Sat 2026-03-07 02:30 -05:00    Sat 2026-03-07 08:30 +01:00",
        "Mon 2026-03-09 02:30 -04:00    Mon 2026-03-09 07:30 +01:00   "
        "clocks went forward 1 h; skipped: Sun 2026-03-08 02:30",
        "Tue 2026-03-10 02:30 -04:00    Tue 2026-03-10 07:30 +01:00",
    ]


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "note"),
    [
        (
            "30 1 * * *",
            "America/New_York",
            "2026-11-01T05:30:00Z",
            "clocks went back 1 h; this time of day comes twice",
        ),
        ("0 5 * * *", "Europe/London", "2026-10-24T05:00:00Z", "clocks went back 1 h"),
        (
            "0 12 * * 5",
            "Africa/Cairo",
            "2024-04-20T00:00:00Z",
            "clocks went forward 1 h; skipped: Fri 2024-04-26 12:00",
        ),
        (
            "0 5 * * *",
            "Australia/Lord_Howe",
            "2024-10-05T00:00:00Z",
            "clocks went forward 30 min; skipped: Sun 2024-10-06 05:00",
        ),
        (
            "*/15 * * * *",
            "Europe/Berlin",
            "2026-03-29T00:45:00Z",
            "clocks went forward 1 h; skipped: Sun 2026-03-29 02:00, Sun 2026-03-29 02:15, "
            "Sun 2026-03-29 02:30 and 1 more",
        ),
        ("@every 24h", "Europe/Berlin", "2026-03-28T12:00:00Z", "clocks went forward 1 h"),
        ("0 0 * * *", "Asia/Kolkata", "2026-03-28T12:00:00Z", ""),
    ],
)
def test_clock_changes_are_marked(
    schedule: str, zone: str, after: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    header, row = shown(capsys, schedule, "--zone", zone, "--after", after, "-n", "1")
    assert row[header.index("NOTE") :] == note


def test_without_a_zone_the_machines_counts_and_ten_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "0 12 * * *", "--after", "2026-06-15T00:00:00Z")
    assert len(lines) == 11
    assert lines[1].startswith("Mon 2026-06-15 12:00 +02:00")


def test_a_zone_in_the_schedule_beats_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("CRON_TZ=Asia/Tokyo 0 0 * * *", "--zone", "Etc/UTC", "--after", "2026-06-15T00:00:00Z", "-n1")
    assert "SCHEDULED (Asia/Tokyo)" in shown(capsys, *words)[0]


def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "61 * * * *") == (
        "longshore: schedule '61 * * * *': end of range (61) above maximum (59): 61\n"
    )
    assert refused(capsys, "* * * * *", "--zone", "Mars/Base") == (
        "longshore: --zone: unknown time zone Mars/Base\n"
    )
    assert "'soon' is not an RFC 3339 time" in refused(capsys, "* * * * *", "--after", "soon")
    assert "'0' is not a whole number from 1" in refused(capsys, "* * * * *", "-n", "0")
    assert "give a SCHEDULE, the NAME of a CronJob, or --jsonl" in refused(capsys)
    assert "give a SCHEDULE, the NAME of a CronJob, or --jsonl" in refused(
        capsys, "* * * * *", "--jsonl", "-"
    )
    assert refused(capsys, "59 23 31 2 *", code=1) == (
        "longshore: schedule '59 23 31 2 *' does not fire within five years\n"
    )
    assert "No such file" in refused(capsys, "--jsonl", "/nowhere")


def answered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, *words: str
) -> list[dict[str, Any]]:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return [json.loads(line) for line in shown(capsys, "--jsonl", "-", *words)]


def test_each_row_gets_its_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {
            "schedule": "0 0 * * *",
            "tz": "Asia/Tokyo",
            "after": "2026-01-01T00:00:00Z",
            "kept": 1,
            "next": "old",
        },
        {"schedule": "0 0 * * *", "tz": None, "after": "2026-01-01T00:00:00Z"},
        {"schedule": "0 0 31 2 *", "tz": "Etc/UTC", "after": "2026-01-01T00:00:00Z"},
        {"schedule": "nonsense"},
        {"schedule": "@daily", "tz": "Mars/Base", "after": "2026-01-01T00:00:00Z"},
        {"schedule": "@daily"},
        {"schedule": 5},
        {"schedule": "@daily", "tz": 5},
        [],
    ]
    text = "\n".join(json.dumps(row) for row in rows) + "\n\nnot json\n"
    assert answered(capsys, monkeypatch, text, "-n", "2") == [
        {
            "schedule": "0 0 * * *",
            "tz": "Asia/Tokyo",
            "after": "2026-01-01T00:00:00Z",
            "kept": 1,
            "next": ["2026-01-01T15:00:00Z", "2026-01-02T15:00:00Z"],
        },
        {**rows[1], "next": ["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]},  # type: ignore[dict-item]
        {**rows[2], "next": [None]},  # type: ignore[dict-item]
        {"schedule": "nonsense", "error": "expected exactly 5 fields, found 1: [nonsense]"},
        {**rows[4], "error": "unknown time zone Mars/Base"},  # type: ignore[dict-item]
        {"schedule": "@daily", "error": "after: must be an RFC 3339 time"},
        {"schedule": 5, "error": "schedule: must be a string"},
        {"schedule": "@daily", "tz": 5, "error": "tz: must be a string or null"},
        {"error": "not an object"},
        {"error": "not JSON: Expecting value: line 1 column 1 (char 0)"},
    ]


def test_recorded_rows_are_answered_as_they_were(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with VECTORS.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if row["kind"] == "invalid"] + [r for r in rows if r["kind"] == "next"][::10]
    asked = [{key: row[key] for key in row if key not in ("next", "error")} for row in rows]
    text = "\n".join(json.dumps(row) for row in asked)
    assert answered(capsys, monkeypatch, text) == rows
