"""The display on a real pseudo-terminal: bars that move, strips, failures, and Ctrl-C."""

from __future__ import annotations

from support.longshore_command import Command, on_terminal


def test_bars_move_and_the_last_words_stay(longshore: Command) -> None:
    words = "sh", "-c", "sleep 0.05; [ $JOB_COMPLETION_INDEX != 7 ] || { echo it broke; exit 3; }"
    shown = on_terminal(
        ["run", "--completions", "40", "--parallelism", "4", "--name", "crew", "--", *words],
        longshore.home,
        longshore.environment(),
    )
    assert shown.exit == 1
    bars = [line for frame in shown.frames for line in frame.splitlines() if line.startswith("crew  ━")]
    counts = [int(line.split("/40")[0].split()[-1]) for line in bars]
    assert len(bars) >= 3
    assert counts == sorted(counts)
    assert counts[-1] == 39
    assert any(" active" in line and " waiting" in line for line in bars)
    assert any(" left" in line for line in bars)
    strips = [
        line.strip()
        for frame in shown.frames
        for line in frame.splitlines()
        if set(line.strip()) <= set("█▓▒░")
    ]
    strips = [strip for strip in strips if strip]
    assert strips[-1] == "█" * len(strips[-1])
    assert any("░" in strip for strip in strips)
    assert "job/crew index 7 failed: exit code 3" in shown.text
    assert "│ it broke" in shown.text
    *_, hint = after = shown.text[shown.text.rindex("job/crew failed: FailedIndexes") :].splitlines()
    assert not any("━" in line for line in after)
    assert hint == "run what is left of it with: longshore retry job/crew"
    assert "\x1b[?25h" in shown.raw, "the cursor is shown again"


def test_lines_of_output_stand_above_the_bars(longshore: Command) -> None:
    words = "sh", "-c", "echo hello from $JOB_COMPLETION_INDEX"
    shown = on_terminal(
        ["run", "--completions", "3", "--logs", "--name", "talk", "--", *words],
        longshore.home,
        longshore.environment(),
    )
    assert shown.exit == 0
    for index in range(3):
        assert f"[talk-{index}] hello from {index}" in shown.text


def test_ctrl_c_on_the_terminal_reaches_longshore_alone(longshore: Command) -> None:
    trap = "trap 'echo caught > caught' INT; sleep 600"
    shown = on_terminal(
        ["run", "--name", "long", "--", "sh", "-c", trap],
        longshore.home,
        longshore.environment(),
        interrupt_when=lambda text: "1 active" in text,
    )
    assert shown.exit == 130
    assert "job/long was stopped: 0/1 complete, 1 active" in shown.text
    assert not (longshore.home / "caught").exists()
