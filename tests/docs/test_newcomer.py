"""The path of a newcomer: an ordinary user, a fresh clone, and README.md line by line."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from docs.console_blocks import blocks
from docs.shell_session import Session
from support import kubectl_binary
from support.places import ROOT

_USER_PREFIX = "newcomer-"  # then the process that made the user, so that runs beside each other keep theirs
_AS_NEWCOMER = Path(__file__).with_name("as_newcomer.py")


@dataclass
class Newcomer:
    """An ordinary user with a fresh clone. There may be no network, so packages come from the environment of
    the tests: those that longshore needs, and those that build it, are copied to where any user can read
    them."""

    home: Path
    clone: Path
    path: str
    packages: Path
    user: pwd.struct_passwd

    def session(self, *, namespaces: bool = True, inside: tuple[str, ...] = ()) -> Session:
        """A shell in the clone; `namespaces` says whether the user may make user namespaces, `inside` is a
        program that runs the shell somewhere else."""
        prefix = [sys.executable, str(_AS_NEWCOMER), str(self.user.pw_uid), str(self.user.pw_gid)]
        if os.geteuid() != 0:
            if not namespaces:
                pytest.skip("only root can take user namespaces from somebody")
            prefix = []
        else:
            prefix.append("yes" if namespaces else "no")
        variables = {
            "USER": self.user.pw_name,
            "PYTHONPATH": str(self.packages),
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the other way round: no isolation
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        return Session(self.home, self.clone, path=self.path, prefix=[*prefix, *inside], **variables)


@contextlib.contextmanager
def newcomer() -> Iterator[Newcomer]:
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder, _user(Path(folder)) as user:
        home = Path(folder)
        home.chmod(0o755)
        programs, packages, clone = home / "bin", home / "packages", home / "longshore"
        programs.mkdir()
        (programs / "python3").symlink_to(_python())
        shutil.copy(kubectl_binary.find(), programs / "kubectl")
        _copy_packages(packages)
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", str(clone)], check=True)
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", folder], check=True)
        yield Newcomer(home, clone, f"{programs}:/usr/local/bin:/usr/bin:/bin", packages, user)


@contextlib.contextmanager
def _user(home: Path) -> Iterator[pwd.struct_passwd]:
    """A user of this machine that goes again; without root, oneself."""
    if os.geteuid() != 0:
        yield pwd.getpwuid(os.geteuid())
        return
    if shutil.which("useradd") is None:
        pytest.skip("there is no useradd here")
    for left in _users_of_killed_runs():
        _remove_user(left)
    name = f"{_USER_PREFIX}{os.getpid()}"
    subprocess.run(["useradd", "--no-create-home", "--home-dir", str(home), name], check=True)
    user = pwd.getpwnam(name)
    try:
        yield user
    finally:
        _end_processes_of(user.pw_uid)  # keepers stay ten seconds after their longshore
        _remove_user(name)


def _users_of_killed_runs() -> list[str]:
    """Users whose test was killed before it removed them, and users of this very process number."""
    makers = {
        user.pw_name: user.pw_name.removeprefix(_USER_PREFIX)
        for user in pwd.getpwall()
        if user.pw_name.startswith(_USER_PREFIX)
    }
    return [
        name for name, pid in makers.items() if pid == str(os.getpid()) or not Path("/proc", pid).exists()
    ]


def _remove_user(name: str) -> None:
    """Forced, as an ended process that nobody has collected yet counts as one of the user's."""
    subprocess.run(["userdel", "--force", name], check=True)


def _end_processes_of(uid: int) -> None:
    """Kills what runs as a user that was made for a test, and waits until it is gone."""
    for _ in range(200):
        running = [
            entry for entry in Path("/proc").iterdir() if entry.name.isdecimal() and _runs_as(entry, uid)
        ]
        if not running:
            return
        for entry in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)
        time.sleep(0.05)


def _runs_as(entry: Path, uid: int) -> bool:
    with contextlib.suppress(OSError):
        status = (entry / "status").read_text()
        return f"\nUid:\t{uid}\t" in status and "\nState:\tZ" not in status
    return False


def _python() -> Path:
    """A Python of the tests' version that other users may run."""
    if os.geteuid() != 0:
        return Path(os.path.realpath(sys.executable))
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for found in (os.path.realpath(sys.executable), f"/usr/local/bin/{name}", f"/usr/bin/{name}"):
        path = Path(found)
        if path.exists() and all(folder.stat().st_mode & 0o005 == 0o005 for folder in path.parents):
            return path
    pytest.skip(f"there is no {name} here that other users may run")


def _copy_packages(into: Path) -> None:
    """Copies longshore's dependencies and its build tool, without longshore itself."""
    waiting, seen = [*_required("longshore"), "hatchling"], {"longshore"}
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # for another platform or version
            for file in importlib.metadata.files(name) or ():
                if ".." not in file.parts and "__pycache__" not in file.parts:
                    target = into / file
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file.locate(), target)
            waiting += _required(name)


def _required(name: str) -> list[str]:
    """Names of the packages that one needs, extras left out."""
    lines = importlib.metadata.requires(name) or []
    found = (re.match(r"[\w.-]+", line) for line in lines if "extra ==" not in line)
    return [match[0].lower().replace("_", "-") for match in found if match]


# ---- tests

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
