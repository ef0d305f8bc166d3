"""Bad arguments of `longshore controllers` and what is said about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.cli.main import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "argument --workers: '0' is not a whole number from 1"),
        (["--lease", "/x"], "argument --lease: '/x' is neither NAME nor NAMESPACE/NAME"),
        (
            ["--metrics-port", "x"],
            "argument --metrics-port: 'x' is neither a port from 1 to 65535 nor ADDRESS:PORT",
        ),
        (["--webhooks=x"], "argument --webhooks: 'x' is neither a port from 1 to 65535 nor ADDRESS:PORT"),
        (["--webhooks", "-n", "x"], "--webhooks answer for all namespaces: leave --namespace out"),
        (["--controllers", "none"], "argument --controllers: name at least one controller"),
        (
            ["--controllers", "podgc", "-n", "x"],
            "--namespace: these controllers need all namespaces: podgc",
        ),
    ],
)
def test_bad_arguments_are_named(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["controllers", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_kubeconfig_that_is_not_there_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["controllers", "--kubeconfig", str(tmp_path / "none")]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err
