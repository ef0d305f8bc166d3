"""Flags of Volcano's plugins, as Go's flag package reads them."""

from __future__ import annotations

import pytest

from longshore.api import goflags

DEFAULTS: dict[str, goflags.Value] = {"port": 22, "master": "master", "quiet": True}


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        (["--port=23", "-master", "m", "-quiet=F"], {"port": 23, "master": "m", "quiet": False}),
        (["--port", "0x1f"], {"port": 31}),
        (["--port=010"], {"port": 8}),
        (["--port=-0b11"], {"port": -3}),
        (["--port=1_000"], {"port": 1000}),
        (["--port=0_17"], {"port": 15}),
        (["--port=+0"], {"port": 0}),
        (["--quiet=0", "--quiet"], {}),
        (["--master=m", "port", "--port=1"], {"master": "m"}),
        (["--other=1", "--port=1"], {}),
        (["--port"], {}),
    ],
)
def test_flags_are_read(arguments: list[str], changed: dict[str, goflags.Value]) -> None:
    assert goflags.parse(arguments, DEFAULTS) == DEFAULTS | changed


@pytest.mark.parametrize(
    ("value", "port"),
    [
        (" 22", 0),
        ("２２", 0),
        ("08", 0),
        ("1__0", 0),
        ("0x", 0),
        ("", 0),
        ("9223372036854775808", 2**63 - 1),
        ("-9223372036854775809", -(2**63)),
        ("9" * 5000, 2**63 - 1),
    ],
)
def test_a_number_that_cannot_be_read_is_the_last_flag(value: str, port: int) -> None:
    assert goflags.parse([f"--port={value}", "--master=m"], DEFAULTS) == DEFAULTS | {"port": port}


def test_a_bool_that_cannot_be_read_is_false_and_the_last_flag() -> None:
    assert goflags.parse(["--quiet=yes", "--master=m"], DEFAULTS) == DEFAULTS | {"quiet": False}
