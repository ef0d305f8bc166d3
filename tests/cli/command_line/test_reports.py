"""`longshore report`: the last day in one piece, for a terminal and for a mail."""

from __future__ import annotations

import html.parser
import time
from pathlib import Path
from typing import Any

import pytest

from longshore.cli.commands.history import Row
from longshore.cli.main import main
from longshore.cli.reporting import day, forms
from longshore.cli.reporting.day import Day, Skipped
from support.longshore_process import longshore_up

NOON = 1_773_144_000.0  # 2026-03-10 12:00 UTC
HOUR = 3600.0


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def run(name: str, begun: float, took: float | None, result: str = "complete", **more: Any) -> Row:
    ended = None if took is None else begun + took
    return Row("job", name, result, begun, ended, 1, int(result == "complete"), 0, "server", **more)


def nightly(begun: float, took: float, result: str = "complete", late: float = 0.0, **more: Any) -> Row:
    name = f"nightly-{int(begun) // 60}"
    return run(name, begun + late, took, result, owner="CronJob/nightly", **more)


def a_day() -> Day:
    rows = [nightly(NOON - days * 24 * HOUR, 12.0 * 60) for days in (5, 4, 3, 2)]
    rows += [
        nightly(NOON - 10 * HOUR, 41.0 * 60),
        nightly(NOON - 8 * HOUR, 60.0, "failed", late=300.0, failure="index 0: exit code 3", record="n.1"),
        run("by|hand", NOON - HOUR, None, "running"),
        run("<b>", NOON - 2 * HOUR, 1.5),
    ]
    skipped = [Skipped("backup", "default", "2026-03-10T03:00:00Z", "skipped 3 runs: too late")]
    words = {"n.1": "\n".join(f"line {number}" for number in range(20))}
    return day.of_rows(rows, NOON - 24 * HOUR, NOON, words, skipped)


def test_runs_are_sorted_by_what_is_asked() -> None:
    found = a_day()
    assert [row.name for row in found.rows][1:] == [f"nightly-{int(NOON - 8 * HOUR) // 60}", "<b>", "by|hand"]
    assert found.counts() == "4 runs: 2 complete, 1 failed, 1 running; 1 skipped, 1 late, 1 slow"
    assert found.failed() == [1]
    assert found.late() == [(1, 300.0)]
    assert found.slow() == [0]
    assert found.usual == {0: 720.0, 1: 720.0}


def test_a_run_is_not_its_own_measure_and_few_runs_say_nothing() -> None:
    rows = [nightly(NOON - hours * HOUR, 10.0) for hours in (4, 3, 2)]
    assert day.of_rows(rows, NOON - 24 * HOUR, NOON, {}, ()).usual == {}
    rows.append(nightly(NOON - HOUR, 100.0))
    found = day.of_rows(rows, NOON - 24 * HOUR, NOON, {}, ())
    assert (found.usual[3], found.slow()) == (10.0, [3])


def test_a_day_of_nothing() -> None:
    found = day.of_rows([], NOON - 24 * HOUR, NOON, {}, ())
    assert forms.text(found) == "The last 24 h, until 2026-03-10 12:00 UTC\n0 runs\n"
    assert "<svg" not in forms.page(found)


def test_the_text_has_causes_and_last_words() -> None:
    lines = forms.text(a_day()).splitlines()
    assert lines[:4] == [
        "The last 24 h, until 2026-03-10 12:00 UTC",
        "4 runs: 2 complete, 1 failed, 1 running; 1 skipped, 1 late, 1 slow",
        "",
        "Failed",
    ]
    assert lines[4].split() == ["NAMESPACE", "NAME", "STARTED", "TOOK", "CAUSE"]
    assert lines[5].endswith("2026-03-10 04:05:00   1:00, usually 12:00   index 0: exit code 3")
    assert lines[6:16] == [f"      line {number}" for number in range(10, 20)]
    assert "  default     backup    2026-03-10T03:00:00Z   skipped 3 runs: too late" in lines
    assert any(line.endswith("5:00 after its time") for line in lines)
    assert any(line.endswith("41:00, usually 12:00") for line in lines)
    assert any("1:00:00 so far" in line for line in lines)


def test_markdown_escapes_what_tables_mean() -> None:
    told = forms.markdown(a_day())
    assert "| default | by\\|hand | 2026-03-10 11:00:00 | running |" in told
    assert "\n    line 19\n" in told


class _Tags(html.parser.HTMLParser):
    """Every element must be closed in order, and nothing may lead out of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.bars = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.bars += tag == "rect"
        assert not {"src", "href", "onclick"} & {name for name, _ in attrs}
        if tag not in ("meta", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_shows_each_run() -> None:
    tags = _Tags()
    tags.feed(forms.page(a_day()))
    assert not tags.open
    assert not tags.seen & {"script", "link", "img", "b"}
    assert tags.bars == 4


def test_what_could_not_be_read_is_said() -> None:
    found = a_day()
    broken = Day(found.since, found.until, found.rows, {}, {}, (), ["the story of cronjob a/b: away"])
    assert "not whole: the story of cronjob a/b: away" in forms.text(broken)
    assert "**Not whole:** the story of cronjob a/b: away" in forms.markdown(broken)
    assert "Not whole: the story of cronjob a/b: away" in forms.page(broken)


def test_a_report_on_a_real_longshore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LONGSHORE_HOME", str(tmp_path / "home"))
    with longshore_up("--in-memory") as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        assert (
            main(["cron", "add", "@yearly", "--name", "sync", "--", "sh", "-c", "echo no space; exit 4"]) == 0
        )
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "host", "command": ["true"]}]}
        template = {"spec": {"template": {"spec": pod}}}
        never = {"metadata": {"name": "never"}, "spec": {"schedule": "0 0 31 2 *", "jobTemplate": template}}
        running.made("POST", "/apis/batch/v1/namespaces/default/cronjobs", never)
        assert main(["cron", "run", "sync", "--job", "sync-1"]) == 0
        assert main(["wait", "--for=condition=Failed", "--timeout=60s", "job/sync-1"]) == 0
        deadline = time.monotonic() + 30
        while "lastWords" not in _record(running):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        capsys.readouterr()
        assert main(["report", "--since", "1h"]) == 0
        told = capsys.readouterr().out
        assert "1 run: 1 failed; 1 skipped\n" in told
        assert "exit code 4\n      no space\n" in told
        assert "default     never" in told
        assert main(["report", "--since", "7d", "-A", "-o", "html"]) == 0
        assert "<td>sync-1</td>" in capsys.readouterr().out
        assert main(["report", "--since", "0"]) == 2
        assert "'0' is no span of time: write 90m, 24h or 7d" in capsys.readouterr().err


def _record(running: Any) -> Any:
    where = "/apis/longshore.dev/v1/namespaces/default/finishedjobs"
    found = running.made("GET", where)["items"]
    return running.made("GET", f"{where}/{found[0]['metadata']['name']}") if found else {}
