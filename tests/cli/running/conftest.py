"""A person's command line in an empty home, without any longshore that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.longshore_command import Command


@pytest.fixture
def longshore(tmp_path: Path) -> Command:
    return Command(tmp_path)
