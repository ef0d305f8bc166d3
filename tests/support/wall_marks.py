"""Marks for tests that walls make a difference to. Apart, because keeper_engine.py runs without pytest."""

from __future__ import annotations

import pytest

from support.keeper_engine import LEVEL

by_pid = pytest.mark.skipif(LEVEL != "none", reason="its containers tell pids, which are others outside")
