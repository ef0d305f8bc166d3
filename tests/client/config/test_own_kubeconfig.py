"""The kubeconfig of `longshore up` is read by its layout as it would be read as YAML."""

from __future__ import annotations

import pytest
import yaml

from longshore.client.config import kubeconfig

GIVEN = {"server": "https://127.0.0.1:6443", "ca": "LS0tLS1CRUdJTg==", "token": "0a" * 32}
TEXT = kubeconfig.own_text(**GIVEN)


def test_it_is_read_as_yaml_is() -> None:
    assert kubeconfig._read_own(TEXT.encode()) == yaml.safe_load(TEXT)


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("namespace: default", "namespace: other"),
        TEXT + "extensions: []\n",
        TEXT.replace("preferences", "# preferences"),
        kubeconfig.own_text(**{**GIVEN, "token": "01" * 32}),
        kubeconfig.own_text(**{**GIVEN, "token": "1234e567"}),
        kubeconfig.own_text(**{**GIVEN, "server": "https://[::1]:6443"}),
        kubeconfig.own_text(**{**GIVEN, "ca": "null"}),
        "",
        "\0\xff",
    ],
    ids=[
        "changed",
        "longer",
        "a comment",
        "a number",
        "digits",
        "brackets",
        "no certificate",
        "empty",
        "no text",
    ],
)
def test_any_other_file_is_left_to_a_reader_of_yaml(other: str) -> None:
    assert kubeconfig._read_own(other.encode("latin-1")) is None


def test_it_is_a_shortcut_that_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGSHORE_SHORTCUTS", "off")
    assert kubeconfig._read_own(TEXT.encode()) is None
