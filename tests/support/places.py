"""Where things are that tests use: the checkout, the recordings of real clusters, a Python for pods."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ROOT / "tests"
RECORDED: Final = TESTS / "recorded"
PODS_PYTHON: Final = str(Path(sys.executable).resolve())
"""The Python of the tests without its packages. A pod with a /tmp of its own does not see an environment that
lies in a clone below /tmp."""
