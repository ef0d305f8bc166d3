"""The path of a newcomer: an ordinary user, a fresh clone, and README.md line by line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from docs.console_blocks import blocks
from docs.newcomer import Newcomer, newcomer
from docs.shell_session import Session
from support.places import ROOT

pytestmark = [
    pytest.mark.xdist_group("newcomer"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone"),
]


@pytest.fixture(scope="module")
def person() -> Iterator[Newcomer]:
    with newcomer() as found:
        yield found


def follow_readme(shell: Session, person: Newcomer, *, installs: bool) -> None:
    for block in blocks(person.clone / "README.md"):
        if block.not_run or (block.run_by and not installs):
            continue
        for step in block.steps:
            shell.check(step)


def test_every_line_of_the_readme_works_for_an_ordinary_user(person: Newcomer) -> None:
    with person.session() as shell:
        code, said = shell.run("make demo")
        assert code == 0, said
        assert "complete in" in said
        follow_readme(shell, person, installs=True)


def test_and_where_the_system_allows_no_user_namespaces(person: Newcomer) -> None:
    with person.session(namespaces=False) as shell:
        assert shell.run("unshare --user true")[0] != 0
        shell.run('export PATH="$PWD/.venv/bin:$PATH"; rm -rf ~/.local/share/longshore')
        code, said = shell.run("make demo")
        assert code == 0, said
        follow_readme(shell, person, installs=False)


@pytest.mark.parametrize("flags", ["-Ur", "-Urm", "-Urmpf"])
def test_and_as_root_of_a_user_namespace_as_in_rootless_containers_and_build_sandboxes(
    person: Newcomer, flags: str
) -> None:
    own_proc = ("--mount-proc", "--kill-child") if "p" in flags else ()
    with person.session(inside=("unshare", flags, *own_proc)) as shell:
        code, said = shell.run("id -u")
        if code != 0:
            pytest.skip(f"unshare {flags} does not work here")
        assert said.split() == ["0"]
        shell.run('export PATH="$PWD/.venv/bin:$PATH"; rm -rf ~/.local/share/longshore')
        code, said = shell.run("make demo")  # makes the environment, if no other test has
        assert code == 0, said
        for isolation in ("", "--isolation none"):
            code, said = shell.run(f"longshore run {isolation} -- echo hi")
            assert (code, "hi" in said.split()) == (0, True), said
        code, said = shell.run("longshore doctor")
        assert "up to full, as root of a user namespace" in said
        code, said = shell.run("make demo")
        assert code == 0, said
        follow_readme(shell, person, installs=False)
