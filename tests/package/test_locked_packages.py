"""requirements-dev.lock: what CI and `tools/venv dev` install."""

from __future__ import annotations

import re
import tomllib

from support.places import ROOT

LOCK = (ROOT / "requirements-dev.lock").read_text()
PINNED = re.compile(
    r"^([a-z0-9-]+)==\S+(?: ; [^\\]+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.M
)


def test_every_package_that_the_project_names_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = project["dependencies"] + [
        each for extra in project["optional-dependencies"].values() for each in extra
    ]
    names = {re.match(r"[\w.-]+", one)[0].lower().replace("_", "-") for one in asked}  # type: ignore[index]
    assert names <= {found[1] for found in PINNED.finditer(LOCK)}, "renew the lock with: tools/lock"


def test_the_lock_holds_pinned_packages_with_hashes_and_names_no_registry() -> None:
    assert PINNED.sub("", LOCK).strip("\n").splitlines() == [
        line for line in LOCK.splitlines() if line.startswith("#")
    ]
    assert "://" not in LOCK
