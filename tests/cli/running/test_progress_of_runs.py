"""How far a run is, from its status, and what is said and drawn of it: pure."""

from __future__ import annotations

from typing import Any

from longshore.cli.running import report_lines
from longshore.cli.running.live_display import bar
from longshore.cli.running.progress import Failed, FollowedRun


def run_of(completions: int | None = 10, mode: str = "Indexed", **status: Any) -> FollowedRun:
    run = FollowedRun("job", "batch", "default", "pi", "uid", started=100.0)
    run.see({"spec": {"completions": completions, "parallelism": 2, "completionMode": mode}}, 100.0)
    see(run, 105.0, **status)
    return run


def see(run: FollowedRun, now: float, **status: Any) -> None:
    mode = "Indexed" if run.indexed else "NonIndexed"
    spec = {"completions": run.total, "parallelism": 2, "completionMode": mode}
    run.see({"spec": spec, "status": status}, now)


COMPLETE = [{"type": "Complete", "status": "True", "reason": "CompletionsReached"}]
FAILED = [{"type": "Failed", "status": "True", "reason": "FailedIndexes", "message": "some failed"}]


def test_counts_are_those_of_the_status() -> None:
    run = run_of(succeeded=3, failed=2, active=2, completedIndexes="0,2,3", failedIndexes="1")
    assert (run.succeeded, run.failed, run.active, run.given_up, run.waiting) == (3, 2, 2, 1, 4)
    assert run.under_way() == [4, 5]
    assert report_lines.counts(run) == "3/10 complete, 2 active, 2 failed, 4 waiting"


def test_rate_and_time_left_come_from_the_last_seconds() -> None:
    run = run_of(succeeded=2, active=2)
    assert run.rate(105.0) == 2 / 5
    assert run.seconds_left(105.0) == 20.0
    see(run, 120.0, succeeded=3, active=2)
    assert run.rate(120.0) == 1 / 15  # since the last change before the window
    assert run_of(completions=None, mode="NonIndexed", succeeded=1).seconds_left(106.0) is None


def test_nothing_done_yet_tells_no_time() -> None:
    assert run_of(active=2).seconds_left(105.0) is None


def test_an_end_stays() -> None:
    run = run_of(succeeded=10, completedIndexes="0-9", conditions=COMPLETE)
    assert run.end is not None
    assert run.end.well
    assert report_lines.ended(run) == "job/pi complete in 5.0 s: 10 of 10"
    see(run, 200.0, succeeded=10, conditions=FAILED)
    assert run.end.well
    assert run.finished == 105.0


def test_a_failure_names_its_indexes() -> None:
    run = run_of(succeeded=7, failed=3, completedIndexes="0-6", failedIndexes="7-9", conditions=FAILED)
    assert report_lines.ended(run) == (
        "job/pi failed: FailedIndexes: some failed (after 5.0 s, 7/10 complete, 3 failed); "
        "failed indexes: 7-9"
    )


def test_an_item_with_line_ends_stays_on_its_line() -> None:
    run = run_of(1, conditions=FAILED, failed=1, failedIndexes="0")
    run.items = ["a\nb\tü"]
    assert report_lines.ended(run).endswith("; failed: a\\nb\\tü")
    failure = Failed("pod", 0, "exit code 1", item=run.items[0])
    assert report_lines.failed(run, failure) == "job/pi index 0 (a\\nb\\tü) failed: exit code 1"


def test_of_a_very_long_item_the_beginning_is_told() -> None:
    failure = Failed("pod", 0, "exit code 1", item="x" * 5000)
    assert f"({'x' * 199}…)" in report_lines.failed(run_of(1), failure)


def test_what_is_left_says_how_to_go_on() -> None:
    run = run_of(succeeded=3, active=2, completedIndexes="0-2")
    text = "job/pi was stopped: 3/10 complete, 2 active, 5 waiting; indexes 3,4 were running"
    assert report_lines.left(run, stays=False) == text
    assert report_lines.left(run, stays=True) == (
        f"{text}; it is suspended, go on with: longshore resume job/pi"
    )


def test_a_suspension_that_failed_is_not_claimed() -> None:
    run = run_of(succeeded=3, active=2, completedIndexes="0-2")
    run.stop_problem = "the disk is full"
    assert report_lines.left(run, stays=True) == (
        "job/pi could not be suspended, so it may go on: 3/10 complete, 2 active, 5 waiting; "
        "stop it with: longshore suspend job/pi (the disk is full)"
    )


def test_a_pod_and_a_gang_are_deleted_instead() -> None:
    run = FollowedRun("vcjob", "batch.volcano.sh", "ml", "crew", "uid")
    assert (
        report_lines.left(run, stays=True) == "vcjob/crew was stopped: 0/1 complete, 1 waiting; it is deleted"
    )
    run.stop_problem = "no"
    assert "stop it with: longshore delete vcjob/crew -n ml (no)" in report_lines.left(run, stays=True)


def test_what_it_waits_for_is_forgotten_when_something_moves() -> None:
    run = run_of(active=2)
    run.waits = "needs 4 cpu"
    see(run, 106.0, active=2)
    assert report_lines.state(run) == "waits: needs 4 cpu"
    see(run, 107.0, active=2, ready=1)
    assert report_lines.state(run) == ""


def test_a_server_that_is_away_is_told_before_anything_else() -> None:
    run = run_of(active=2)
    run.waits, run.away = "needs 4 cpu", "https://127.0.0.1:6443"
    assert report_lines.state(run) == "waiting for the server: https://127.0.0.1:6443 does not answer"


def test_the_bar_has_numbers_and_a_strip_of_indexes() -> None:
    run = run_of(succeeded=5, failed=1, active=2, completedIndexes="0-3,5", failedIndexes="4")
    line, strip = bar(run, 4, 100, 105.0)
    assert line.plain.startswith("pi    ━━")
    assert "5/10   2 active   1 failed   2 waiting   1/s   4.0 s left" in line.plain
    assert strip.plain == "      ██████▓▓░░"
    colours = [str(span.style) for span in strip.spans]
    assert colours == ["green", "red", "green", "cyan", "bright_black"]


def test_narrow_terminals_lose_the_bar_before_the_count() -> None:
    run = run_of(succeeded=5, failed=1, active=2, completedIndexes="0-3,5", failedIndexes="4")
    shown = {width: [line.plain for line in bar(run, 2, width, 105.0)] for width in (200, 80, 70, 40, 25, 12)}
    assert "━" * 40 in shown[200][0]
    assert len(shown[80]) == 2
    assert shown[70] == ["pi  5/10   2 active   1 failed   2 waiting   1/s   4.0 s left"]
    assert shown[40] == ["pi  5/10   2 active   1 failed"]
    assert shown[25] == ["pi  5/10   2 active"]
    assert shown[12] == ["pi  5/10"]


def test_a_long_name_gives_way_to_the_count() -> None:
    run = run_of(succeeded=5)
    run.name = "a-name-of-some-length-that-nobody-needs"
    (line,) = bar(run, len(run.name), 25, 105.0)
    assert line.plain == "a-name-of-some-le…  5/10"


def test_reasons_and_warnings_stand_under_the_bar() -> None:
    run = run_of(active=2)
    run.waits, run.warning = "needs 4 cpu", "NotSupported: seccompProfile is not applied"
    assert [line.plain.strip() for line in bar(run, 2, 80, 105.0)[2:]] == [
        "waits: needs 4 cpu",
        "warning: NotSupported: seccompProfile is not applied",
    ]


def test_a_long_strip_fits_its_room() -> None:
    run = run_of(completions=100_000, succeeded=50_000, active=8, completedIndexes="0-49999")
    line, strip = bar(run, 2, 80, 105.0)
    assert len(line.plain) <= 80
    marks = strip.plain.strip()
    assert marks.startswith("█" * (len(marks) // 2))
    assert marks.endswith("░" * (len(marks) // 2 - 1))


def test_spans_of_time_are_short() -> None:
    assert [report_lines.span(s) for s in (0.04, 9.94, 42.4, 187, 3723)] == [
        "0.0 s",
        "9.9 s",
        "42 s",
        "3:07",
        "1:02:03",
    ]
