"""`longshore run --logs` shows every byte, however fast it is written; `logs -f` says what it missed."""

from __future__ import annotations

from support.longshore_command import Command

LINES = 1_500_000  # about 110 MB as they are logged: more than twice what is kept of an ordinary log


def test_a_fast_writer_is_shown_to_its_last_line(longshore: Command) -> None:
    done = longshore(
        *("run", "--logs", "--name", "fast", "--", "sh", "-c", f"seq {LINES}; echo the end"), timeout=300
    )
    assert done.exit == 0, done.stderr[-500:]
    lines = done.stdout.splitlines()
    assert lines[-1].endswith("the end")
    numbers = [line.rpartition(" ")[2] for line in lines[:-1]]
    assert numbers == [str(number) for number in range(1, LINES + 1)]
