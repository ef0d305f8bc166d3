"""`--keep-order` and `--tag`: the output of many items, in their order and under their names."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from longshore.cli.running.turns import HeldOutput, Turns
from support.longshore_command import Command


def test_outputs_come_in_the_order_of_the_items(longshore: Command) -> None:
    """The first item ends last: it waits for a file that the last one makes."""
    gate = "case {} in a) until [ -e gate ]; do sleep 0.02; done;; d) touch gate;; esac"
    work = f"echo begin {{}}; {gate}; echo end {{}}"
    done = longshore(
        *("run", "--each", "-", "--keep-order", "--tag", "--parallelism", "4", "--", "sh", "-c", work),
        stdin="a\nb\nc\nd\n",
    )
    assert done.exit == 0, done.stderr
    assert done.stdout == "".join(f"{item}\tbegin {item}\n{item}\tend {item}\n" for item in "abcd")


def test_every_try_of_a_failed_item_is_printed_in_its_turn(longshore: Command) -> None:
    work = "echo {}; [ {} != b ] || exit 3"
    done = longshore(
        *("run", "--each", "-", "--keep-order", "--tag", "--parallelism", "3"),
        *("--retries", "1", "--backoff", "0", "--", "sh", "-c", work),
        stdin="a\nb\nc\n",
    )
    assert done.exit == 1
    assert done.stdout == "a\ta\nb\tb\nb\tb\nc\tc\n"


def test_a_run_that_stops_early_prints_what_there_is_in_order(longshore: Command) -> None:
    work = "echo {}; [ {} != b ] || { sleep 0.3; exit 3; }; [ {} = a ] || exec sleep 600"
    done = longshore(
        *("run", "--each", "-", "--keep-order", "--tag", "--parallelism", "3", "--fail-fast"),
        *("--", "sh", "-c", work),
        stdin="a\nb\nc\nd\n",
    )
    assert done.exit == 1
    tags = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert tags[:3] == ["a", "b", "c"]
    assert tags == sorted(tags)


def test_kept_in_order_output_comes_as_it_was_written(longshore: Command) -> None:
    command = "run", "--each", "-", "--parallelism", "2", "-k"
    assert longshore(*command, "--", "printf", "{} ", stdin="a\nb\n").stdout == "a b "
    named = longshore(*command, "--logs", "--name", "named", "--", "echo", "{}", stdin="a\nb\n")
    assert named.stdout == "[named-0] a\n[named-1] b\n"


def test_without_items_the_tag_is_the_index(longshore: Command) -> None:
    assert longshore.ok("run", "--completions", "2", "--tag", "-k", "--", "echo", "hi") == "0\thi\n1\thi\n"


def test_the_tag_of_an_empty_item_is_empty(longshore: Command) -> None:
    done = longshore("run", "--each", "-", "--tag", "-k", "--", "echo", "x{}", stdin="a\n\nb\n")
    assert done.stdout == "a\txa\n\tx\nb\txb\n"


def test_an_item_that_is_no_text_keeps_its_bytes(longshore: Command) -> None:
    (longshore.home / "items").write_bytes(b"\xff\xfe\n\xe4\n")
    command = "run", "--each", "items", "--tag", "-k", "--", "sh", "-c", "echo got"
    with open(longshore.home / "out", "wb") as out:
        process = longshore.start(*command, stdout=out)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert (longshore.home / "out").read_bytes() == b"\xff\xfe\tgot\n\xe4\tgot\n"


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_the_result_names_items_that_are_no_text(longshore: Command, locale: str) -> None:
    longshore.env["LC_ALL"] = locale
    (longshore.home / "items").write_bytes(b"\xff\n")
    done = longshore("run", "--each", "items", "-o", "json", "--", "false")
    assert (done.exit, done.stderr) == (1, "")
    assert json.loads(done.stdout)["runs"][0]["failedItems"] == ["\\xff"]


def test_much_output_waits_in_a_file_that_goes_with_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shown: list[bytes] = []
    held = HeldOutput(shown.append)
    lines = [b"%06d\n" % number for number in range(30_000)]
    for line in lines:
        held.write(line)
    assert len([*tmp_path.iterdir()]) == 1
    held.release()
    held.write(b"last\n")
    assert (shown, [*tmp_path.iterdir()], held.broken) == ([*lines, b"last\n"], [], False)


def test_output_that_cannot_be_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    shown: list[bytes] = []
    held = HeldOutput(shown.append)
    for _ in range(3):
        held.write(b"x" * 50_000 + b"\n")
    held.release()
    assert held.broken
    assert any(b"output was lost, as it could not be kept for its turn" in line for line in shown)


def test_turns_pass_over_indexes_that_never_came_when_all_is_over() -> None:
    async def scene() -> list[int]:
        turns, order = Turns(), list[int]()

        async def write(index: int) -> None:
            await turns.add(index)
            order.append(index)
            turns.printed(index)

        writers = [asyncio.create_task(write(index)) for index in (7, 3, 0)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == [0]
        turns.over(0)
        await asyncio.sleep(0)
        assert order == [0], "index 1 may still come"
        turns.all_over()
        await asyncio.gather(*writers)
        return order

    assert asyncio.run(scene()) == [0, 3, 7]
