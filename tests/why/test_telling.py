"""The parts of a story: lines merged, indexes and times as people write them, text from documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from longshore.machinery.records import Record
from longshore.machinery.sentences import counted, ordinal, quoted, ranges, span
from longshore.why import kinds, restarts, text
from longshore.why.story import Line, StoryView, merged, once, problem
from longshore.why.tell import TELLERS, tell

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECONDS = NOON.timestamp()


def document(*lines: Line, now: tuple[str, ...] = (), following: tuple[str, ...] = ()) -> dict[str, object]:
    from longshore.why.story import Story

    story = Story(kinds.KINDS["job"], "ns", "x", "u", False, lines, now, following)
    return story.document()


def test_every_kind_has_its_teller() -> None:
    assert TELLERS.keys() == kinds.KINDS.keys()


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("job", "job"),
        ("jobs.batch", "job"),
        ("PO", "pod"),
        ("vj", "vcjob"),
        ("jobs.batch.volcano.sh", "vcjob"),
        ("job.batch.volcano.sh", "vcjob"),
        ("job.batch", "job"),
        ("podgroup.scheduling.volcano.sh", "podgroup"),
        ("ns", "namespace"),
        ("pg", "podgroup"),
    ],
)
def test_kinds_have_many_names(word: str, kind: str) -> None:
    found = kinds.named(word)
    assert found is not None
    assert found.word == kind


@pytest.mark.parametrize(
    ("listed", "said"), [("0", "0"), ("0-2", "0–2"), ("0,1", "0, 1"), ("0-2,5,7-9", "0–2, 5, 7–9")]
)
def test_indexes_are_written_as_people_do(listed: str, said: str) -> None:
    assert ranges(listed) == said


def test_numbers_and_times_in_words() -> None:
    assert [ordinal(n) for n in (1, 2, 9, 10, 11, 12, 21, 22, 103)] == [
        "first", "second", "ninth", "10th", "11th", "12th", "21st", "22nd", "103rd",
    ]  # fmt: skip
    assert [span(s) for s in (1, 10, 80, 120, 600, 3600, 5400, 86400)] == [
        "1 s", "10 s", "80 s", "2 min", "10 min", "1 h", "90 min", "1 d",
    ]  # fmt: skip
    assert (counted(1, "pod"), counted(3, "pod"), counted(2, "index")) == ("1 pod", "3 pods", "2 indexes")


def test_last_words_are_the_last_line_and_not_too_long() -> None:
    assert quoted("reading\n  no such file \n\n") == '"no such file"'
    assert quoted("") == quoted(" \n") == ""
    assert len(quoted("x" * 500)) == 102


def test_a_problem_says_the_same_for_each_pod() -> None:
    assert problem('pods "x-4nh5l" is forbidden: quota q') == 'pods "x-…" is forbidden: quota q'
    assert problem('queue "gold" is closed') == 'queue "gold" is closed'


def test_lines_that_say_the_same_in_a_row_are_one() -> None:
    lines = [Line(1.0, "a"), Line(3.0, "a"), Line(2.0, "a"), Line(4.0, "b"), Line(5.0, "a")]
    assert [(line.words, line.times, line.until) for line in merged(lines)] == [
        ("a", 3, 3.0),
        ("b", 1, 0.0),
        ("a", 1, 0.0),
    ]


def test_what_a_restart_says_again_is_told_once() -> None:
    lines = [Line(1.0, "bound"), Line(2.0, "used"), Line(9.0, "bound")]
    assert [line.words for line in once(lines)] == ["bound", "used"]


def test_different_ends_of_a_container_are_not_folded() -> None:
    ends = [Line(float(n), f"ended: exit code {n % 2}", code="ContainerFailed") for n in range(6)]
    assert restarts.folded(ends) == ends
    same = [Line(float(n), "ended: exit code 1", code="ContainerFailed") for n in range(6)]
    first, folded, last = restarts.folded([*same])
    assert (first, last) == (same[0], same[-1])
    assert folded.words.startswith("it ended like this 4 more times")


def test_the_text_shows_times_in_the_zone_of_the_reader() -> None:
    told = document(
        Line(SECONDS - 60, "retried at 2026-01-01T12:05:00Z", ("below",)),
        Line(SECONDS, "said", times=3, until=SECONDS + 5),
        now=("waits",),
        following=("ends at 2026-01-01T13:00:00+01:00", "or not"),
    )
    berlin = timezone(timedelta(hours=1))
    assert text.lines(told, berlin, NOON) == [
        "12:59:00  retried at 13:05:00",
        "          below",
        "13:00:00  said (3 times, until 13:00:05)",
        "now       waits",
        "next      ends at 13:00:00",
        "          or not",
    ]


@pytest.mark.parametrize(
    ("stamp", "hours"),
    [
        ("0000-00-00T00:00:00Z", 0),
        ("2026-13-45T25:61:61Z", 0),
        ("2026-06-30T23:59:60Z", 0),
        ("0001-01-01T00:00:00Z", -5),
        ("9999-12-31T23:59:59Z", 5),
    ],
)
def test_a_time_that_no_calendar_has_is_shown_as_it_was_written(stamp: str, hours: int) -> None:
    told = document(Line(SECONDS, f'exit code 1, "bad date {stamp}"'))
    assert text.lines(told, timezone(timedelta(hours=hours)), NOON) == [
        f'{12 + hours:02}:00:00  exit code 1, "bad date {stamp}"'
    ]


def test_another_day_is_shown_with_its_date() -> None:
    told = document(Line(SECONDS - 86400, "old"), Line(SECONDS, "new"), following=("nothing",))
    assert text.lines(told, UTC, NOON) == [
        "2025-12-31 12:00:00  old",
        "12:00:00             new",
        "next                 nothing",
    ]


def test_a_long_story_is_told_from_its_end() -> None:
    told = document(*(Line(SECONDS + n, f"line {n}") for n in range(5)))
    assert text.lines(told, UTC, NOON, 2) == [
        "…         3 earlier lines; longshore why --all shows them",
        "12:00:03  line 3",
        "12:00:04  line 4",
    ]


def test_a_document_says_all_that_programs_compare() -> None:
    told = document(Line(SECONDS, "created", ("more",), "PodsCreated", {"pods": 3}, "Job controller"))
    assert told["about"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "x",
        "namespace": "ns",
        "uid": "u",
        "gone": False,
    }
    assert told["story"] == [
        {
            "at": "2026-01-01T12:00:00Z",
            "words": "created",
            "more": ["more"],
            "code": "PodsCreated",
            "numbers": {"pods": 3},
            "who": "Job controller",
        }
    ]


def test_reasons_that_no_teller_knows_are_told_in_their_own_words() -> None:
    for word, kind in kinds.KINDS.items():
        record = Record(SECONDS, word, "ns", "x", "u", "somebody", "Novelty", "does something new")
        story = tell(StoryView(kind, "ns", "x", SECONDS, records=[record]))
        assert story is not None
        if word != "pod":
            assert [line.words for line in story.lines] == ["does something new"], word


def test_control_sequences_in_messages_are_written_out() -> None:
    said = document(Line(SECONDS, 'exit code 3, "\x1b[31mred\x1b]0;title\x07"'), now=("waits: \x1b[2J",))
    assert text.lines(said, UTC, NOON) == [
        '12:00:00  exit code 3, "^[[31mred^[]0;title^G"',
        "now       waits: ^[[2J",
    ]
