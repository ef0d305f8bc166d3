"""What `pip install longshore` brings: data files, type marker, licence, entry point."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

from support.places import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built as pip builds it. The build tool comes with the dev tools, so nothing is fetched."""
    into = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, "--wheel-dir", str(into), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = into.iterdir()
    return zipfile.ZipFile(built)


def test_every_source_and_data_file_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    source = ROOT / "src"
    expected = {
        str(file.relative_to(source))
        for file in (source / "longshore").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and not file.name.startswith(".")
    }
    assert expected <= set(wheel.namelist())
    assert "longshore/py.typed" in expected


def test_nothing_but_the_package_is_installed(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {re.sub(r"-.*\.dist-info", "", top) for top in tops} == {"longshore"}


def test_the_command_and_the_licence_come_along(wheel: zipfile.ZipFile) -> None:
    texts = {
        name.partition("/")[2]: wheel.read(name).decode() for name in wheel.namelist() if "dist-info" in name
    }
    assert "longshore = longshore.cli.main:main" in texts["entry_points.txt"]
    assert "License-Expression: Apache-2.0" in texts["METADATA"]
    assert "licenses/LICENSE" in texts


def test_every_dependency_carries_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    section = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.M | re.S)
    assert section is not None
    lines = section[1].splitlines()
    assert len(lines) == len(tomllib.loads(text)["project"]["dependencies"])
    for line in lines:
        assert re.search(r'",\s+# \S+ \w+', line), line


def test_the_top_of_the_repository_holds_nothing_that_a_command_wrote_there() -> None:
    """A command tried at the top, as `longshore man --to .`, leaves files that `git add -A` takes along."""
    listed = subprocess.run(
        ["git", "ls-files", "--", ":(glob)*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    known = {"LICENSE", "Makefile", "pyproject.toml", "requirements-dev.lock"}
    odd = [name for name in listed.stdout.split() if not name.endswith(".md") and name[0] != "."]
    assert set(odd) <= known
