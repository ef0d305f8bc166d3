"""The way out for volumes that cannot be mounted, by what this machine forbids."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.node.preparing import isolation

ALWAYS = "start longshore as root or with --runtime podman"


@pytest.mark.parametrize(
    ("setting", "value", "cure"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor profile"),
        ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
    ],
)
def test_the_setting_that_forbids_it_is_named_with_its_cure(
    tmp_path: Path, setting: str, value: str, cure: str
) -> None:
    file = tmp_path / setting
    file.parent.mkdir()
    file.write_text(f"{value}\n")
    assert cure in isolation.way_out(tmp_path)
    assert isolation.way_out(tmp_path).endswith(f"; or {ALWAYS}")
    file.write_text("12345\n")
    assert isolation.way_out(tmp_path) == ALWAYS


def test_without_any_such_setting_root_and_podman_are_left(tmp_path: Path) -> None:
    assert isolation.way_out(tmp_path) == ALWAYS
