"""`longshore doctor` on the walls that pods can have: the level, for whom, and what to turn on."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.cli import doctor_checks
from longshore.node.preparing import isolation

CURES = [
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
]


@pytest.mark.parametrize(("setting", "value", "cure"), CURES)
@pytest.mark.parametrize("is_root", [True, False])
def test_the_setting_that_forbids_walls_to_users_is_named_with_its_cure(
    tmp_path: Path, setting: str, value: str, cure: str, is_root: bool
) -> None:
    (tmp_path / setting).parent.mkdir()
    (tmp_path / setting).write_text(f"{value}\n")
    found = doctor_checks.isolation_finding(
        "full" if is_root else "none",
        "" if is_root else "not permitted",
        is_root=is_root,
        for_users=isolation.for_users(tmp_path),
        way_out=isolation.way_out(tmp_path),
    )
    assert found.state == ("ok" if is_root else "limited")
    assert f"sudo sysctl -w {cure}" in found.help


def test_where_nothing_forbids_walls_there_is_nothing_to_turn_on(tmp_path: Path) -> None:
    assert isolation.for_users(tmp_path) == ""
    for is_root in (True, False):
        found = doctor_checks.isolation_finding("full", "", is_root=is_root, for_users="", way_out="")
        assert (found.state, found.help) == ("ok", "")
        assert "up to full" in found.text


def test_root_without_the_right_is_told_of_the_capability() -> None:
    found = doctor_checks.isolation_finding("none", "not permitted", is_root=True, for_users="", way_out="")
    assert found.state == "limited"
    assert found.text.endswith("not permitted")
    assert "SYS_ADMIN" in found.help


def test_a_machine_where_only_the_walls_of_processes_can_be_had_is_told_of_both_levels() -> None:
    found = doctor_checks.isolation_finding(
        "process", "no tmpfs", is_root=False, for_users="", way_out="as root"
    )
    assert (found.state, found.help) == ("limited", "as root")
    assert found.text.startswith("pods can have level process, not full")
    assert found.text.endswith("no tmpfs")
