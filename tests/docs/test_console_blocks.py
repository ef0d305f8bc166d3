"""Every console block in README and docs is run, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.console_blocks import Block, Step, blocks, same, steps
from docs.shell_session import page_session
from docs.test_links import written
from support.places import ROOT


def run_here(page: Path) -> list[Step]:
    """The commands of a page, but for blocks that say that they are not run, or by which other test."""
    return [step for block in blocks(page) if not (block.not_run or block.run_by) for step in block.steps]


PAGES = [page for page in written() if run_here(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    commands = run_here(page)
    with page_session(tmp_path, kubectl=any("kubectl " in step.command for step in commands)) as shell:
        for step in commands:
            shell.check(step)


def test_a_command_that_another_block_cannot_hide_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- before: touch a -->\n```console\n$ ls \\\n    a\na\n$ false\n$ echo $?\n1\n```\n"
        "<!-- not run: needs a cluster -->\n\n```console\n$ kubectl drain\n```\n"
        "<!-- not run: says nothing of the block below -->\ntext\n```console\n$ true\n```\n"
    )
    first, shown, marked, unmarked = blocks(page)
    assert first == Block((Step("touch a", "", False),))
    assert shown.steps == (
        Step("ls \\\n    a", "a", False),
        Step("false", "", True),
        Step("echo $?", "1", False),
    )
    assert marked.not_run == "needs a cluster"
    assert not unmarked.not_run


def test_output_is_compared_but_for_times_and_random_names() -> None:
    assert same("job/a-x7x2k  took 3s", "job/a-bcd42 took 12.5s")
    assert same("pod/a-x7x2k/main", "pod/a-2766m/main")
    assert same("a\n...\nz", "a\nb\nc\nz")
    assert same("ready at ... now", "ready at home now")
    assert not same("a", "a\nb")
    assert not same("5/5", "4/5")
    with pytest.raises(ValueError, match="begins with a command"):
        [*steps("output first")]


def test_a_shell_keeps_variables_and_exit_codes(tmp_path: Path) -> None:
    with page_session(tmp_path) as shell:
        assert shell.run("export A=3; false") == (1, "")
        assert shell.run("echo $? $A; echo hm >&2") == (0, "1 3\nhm\n")
        assert shell.run("cat; echo $HOME") == (0, "/home/you\n")


def test_a_shell_leaves_no_process_behind(tmp_path: Path) -> None:
    with page_session(tmp_path) as shell:
        _, said = shell.run("sh -c 'echo $$; exec sleep 600' &")
        assert Path(f"/proc/{said.strip()}").exists()
    assert not Path(f"/proc/{said.strip()}").exists()
