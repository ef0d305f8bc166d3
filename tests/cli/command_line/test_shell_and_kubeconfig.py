"""`longshore env`, `kubeconfig` and `man`: what the surroundings of a person need."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore import __version__
from longshore.cli.commands import man
from longshore.cli.main import main, names

OWN = """
apiVersion: v1
kind: Config
clusters: [{name: longshore, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: longshore-admin, user: {token: secret}}]
contexts: [{name: longshore, context: {cluster: longshore, user: longshore-admin, namespace: default}}]
current-context: longshore
"""
THEIRS = """
apiVersion: v1
kind: Config
clusters: [{name: far, cluster: {server: "https://far.example.org"}}]
users: [{name: me, user: {token: x}}]
contexts: [{name: far, context: {cluster: far, user: me}}]
current-context: far
preferences: {colors: true}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LONGSHORE_HOME", str(tmp_path / "my data"))
    (tmp_path / "my data").mkdir()
    (tmp_path / "my data" / "kubeconfig").write_text(OWN)
    return tmp_path


def config(home: Path) -> Any:
    return yaml.safe_load((home / ".kube" / "config").read_text())


def test_env_prints_a_line_that_a_shell_takes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env"]) == 0
    line = capsys.readouterr().out
    assert line == f"export KUBECONFIG='{home}/my data/kubeconfig'\n"
    shown = subprocess.run(
        ["sh", "-c", f'{line}echo "$KUBECONFIG"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"{home}/my data/kubeconfig\n"
    assert main(["env", "--shell", "fish"]) == 0
    assert main(["env", "--unset"]) == 0
    assert capsys.readouterr().out == f"set -gx KUBECONFIG '{home}/my data/kubeconfig'\nunset KUBECONFIG\n"


def test_env_without_a_longshore_says_how_to_start_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", "--data-dir", str(home / "none")]) == 1
    assert capsys.readouterr().err == (
        f"longshore: there is no {home}/none/kubeconfig; start a longshore with: longshore up\n"
    )


def test_merge_makes_a_config_where_there_was_none(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kubeconfig", "merge"]) == 0
    assert "it is the current context: try kubectl get jobs" in capsys.readouterr().out
    assert config(home)["current-context"] == "longshore"
    assert stat.S_IMODE((home / ".kube" / "config").stat().st_mode) == 0o600


def test_merge_keeps_the_others_and_remove_restores_them(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text(THEIRS)
    before = config(home)
    assert main(["kubeconfig", "merge", "--name", "here"]) == 0
    assert "use it with: kubectl --context here get jobs" in capsys.readouterr().out
    merged = config(home)
    assert merged["current-context"] == "far"
    assert [each["name"] for each in merged["contexts"]] == ["far", "here"]
    assert merged["contexts"][1]["context"] == {
        "cluster": "here",
        "user": "here",
        "namespace": "default",
    }
    assert main(["kubeconfig", "merge", "--name", "here", "--use"]) == 0
    assert len(config(home)["users"]) == 2
    assert config(home)["current-context"] == "here"
    assert main(["kubeconfig", "remove", "--name", "here"]) == 0
    assert config(home) == {**before, "current-context": ""}
    assert main(["kubeconfig", "remove", "--name", "here"]) == 0
    assert capsys.readouterr().out.endswith("has no context 'here'\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            THEIRS.replace("far", "longshore"),
            "has a cluster 'longshore' at https://longshore.example.org; choose",
        ),
        ("a: [", "is not YAML: "),
        ("- a", "is not a kubeconfig: "),
    ],
)
def test_merge_spoils_nothing(
    home: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text(text)
    assert main(["kubeconfig", "merge"]) == 1
    assert message in capsys.readouterr().err
    assert (home / ".kube" / "config").read_text() == text


def test_there_is_a_manual_page_for_every_command(tmp_path: Path) -> None:
    assert main(["man", "--to", str(tmp_path / "man1")]) == 0
    pages = {file.name for file in (tmp_path / "man1").iterdir()}
    assert pages == {"longshore.1", *(f"longshore-{name}.1" for name in names())}


def test_a_manual_page_has_the_text_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "up"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f'.TH LONGSHORE\\-UP 1 "" "longshore {__version__}" "longshore"\n.SH NAME\n')
    assert "\\fB\\-\\-port\\fR \\fIN\\fR\n" in page
    for title in ("SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"):
        assert f".SH {title}\n" in page
    assert main(["man", "nonsense"]) == 2


def test_man_takes_the_pages_without_a_warning(tmp_path: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("there is no groff here")
    for name, text in man.everything().items():
        file = tmp_path / f"{name}.1"
        file.write_text(text)
        done = subprocess.run(
            [groff, "-man", "-wall", "-z", file], capture_output=True, text=True, check=True
        )
        said = [line for line in done.stderr.splitlines() if "adjust line" not in line]
        assert said == []
