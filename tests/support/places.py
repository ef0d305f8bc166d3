"""Where things are that tests read: the checkout, and the recordings of real clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
RECORDED: Final = ROOT / "tests" / "recorded"
