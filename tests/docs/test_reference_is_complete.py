"""Generated reference pages name everything: what a running longshore and its commands show is on them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from handbook.reference import commands, events, exit_codes, fields, labels, pages, testing

import longshore
from longshore.api import schema
from longshore.api.kinds.table import RESOURCES
from longshore.cli import main
from support.longshore_process import longshore_up

pytestmark = pytest.mark.xdist_group("reference")  # the pages are made once, not once per worker
PACKAGE = Path(longshore.__file__).parent
COMMANDS = [name for _, listed in main.GROUPS for name, *_ in listed]


@cache
def texts() -> dict[str, str]:
    return pages.texts()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_in_a_commands_help_is_on_the_page(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, "--help"]) == 0
    page = texts()["commands"]
    assert f"## longshore {command}\n" in page
    listed = re.findall(r"^  (-.*)", capsys.readouterr().out, re.M)
    for flag in re.findall(
        r"(?<![\w-])--?[a-z0-9][\w-]*", "\n".join(line.split("   ")[0] for line in listed)
    ):
        assert f"`{flag}" in page or flag in ("-h", "--help"), flag


def test_every_module_of_a_command_is_a_command() -> None:
    modules = {path.stem for path in (PACKAGE / "cli" / "commands").glob("*.py")} - {"__init__"}
    assert modules <= {name.replace("-", "_") for name in COMMANDS}


def test_every_kind_and_every_field_of_it_is_on_a_page() -> None:
    described = "\n".join(text for name, text in texts().items() if name.startswith("fields-"))
    for row in RESOURCES:
        assert f"[{row.kind}]" in texts()["kinds"] or f"| {row.kind} |" in texts()["kinds"]
        message = fields.message_of(row)
        if message:
            (part,) = re.findall(rf"^## {re.escape(message)}\n(.*?)(?=^## |\Z)", described, re.M | re.S)
            assert {f"`{name}`" for name in schema.message(message).fields} <= set(
                re.findall(r"`[^`]+`", part)
            )
    assert len(re.findall(r"^## ", described, re.M)) == len(fields.homes())


def test_every_metric_that_a_longshore_shows_is_on_the_page() -> None:
    with longshore_up("--in-memory") as up:
        shown = set(re.findall(r"^# HELP (\S+)", up.text("/metrics"), re.M))
    ours = {name for name in shown if not name.startswith(("python_", "process_"))}
    page = texts()["metrics"]
    assert len(ours) > 30
    assert not {name for name in ours if f"`{name}`" not in page and f"`{name}_total`" not in page}


def test_every_reason_of_a_recorded_event_in_the_code_is_on_the_page() -> None:
    reasons = {event.reason for event in events.found()}
    for path in (path for path in PACKAGE.rglob("*.py") if path.parts[len(PACKAGE.parts)] != "api"):
        for reason in re.findall(r'"(?:Normal|Warning)", *"([A-Z]\w+)"', path.read_text()):
            assert reason in reasons, f"{path}: {reason}"
    assert {"BackoffLimitExceeded", "FailedMount", "FailedScheduling", "CatchUp", "Suspended"} <= reasons


def test_every_label_of_ours_is_on_the_page_with_its_meaning() -> None:
    used = set()
    for path in PACKAGE.rglob("*.py"):
        used |= set(re.findall(r'"(longshore\.dev/[a-z-]+)"', path.read_text()))
    shown = {label.key: label.meaning for label in labels.found()}
    assert used <= set(shown)
    assert not [key for key in labels.MEANINGS if key not in shown], "no longer used"


def test_every_exit_code_has_a_meaning() -> None:
    assert set(exit_codes.found()) == set(exit_codes.MEANINGS)
    assert commands.names() == COMMANDS


def test_every_public_method_of_a_cluster_for_tests_is_on_the_page() -> None:
    for _, part in testing.PARTS:
        for name, _ in testing.members(part):
            assert f"**`{name}" in texts()["testing"], name
