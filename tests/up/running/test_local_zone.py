"""The zone of the process is found as Go finds it."""

from __future__ import annotations

import zoneinfo
from pathlib import Path

import pytest

from longshore.api import cron
from longshore.up.local_zone import local_zone

NOON = 1_781_524_800  # 2026-06-15T12:00:00Z


def database() -> Path:
    for directory in zoneinfo.TZPATH:
        if (Path(directory) / "Europe/Berlin").exists():
            return Path(directory)
    pytest.skip("this machine has no zone database")


@pytest.mark.parametrize("text", ["Europe/Berlin", ":Europe/Berlin"])
def test_a_name_in_the_environment(text: str) -> None:
    assert local_zone({"TZ": text}) is cron.load("Europe/Berlin")


@pytest.mark.parametrize("text", ["", "UTC", "Mars/Base", "CET-1CEST", "/nowhere", "../../etc/passwd"])
def test_what_is_empty_or_cannot_be_read_is_utc(text: str) -> None:
    assert local_zone({"TZ": text}) is cron.UTC


def test_a_file_in_the_environment() -> None:
    zone = local_zone({"TZ": str(database() / "Europe/Berlin")})
    assert (zone.name, zone.offset(NOON)) == ("Europe/Berlin", 7200)


def test_the_machines_own_by_its_name_where_it_is_a_link(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    link.symlink_to(database() / "Asia/Tokyo")
    zone = local_zone({}, link)
    assert (zone.name, zone.offset(NOON)) == ("Asia/Tokyo", 9 * 3600)


def test_the_machines_own_as_a_copy_has_no_name(tmp_path: Path) -> None:
    copy = tmp_path / "localtime"
    copy.write_bytes((database() / "Asia/Tokyo").read_bytes())
    zone = local_zone({}, copy)
    assert (zone.name, zone.offset(NOON)) == ("Local", 9 * 3600)


def test_a_machine_without_one_is_in_utc(tmp_path: Path) -> None:
    assert local_zone({}, tmp_path / "missing") is cron.UTC
    broken = tmp_path / "broken"
    broken.write_text("not a zone")
    assert local_zone({}, broken) is cron.UTC
