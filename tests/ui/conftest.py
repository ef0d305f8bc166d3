"""A real Chromium on the dashboard of a real longshore: `make test-ui`. `make test` leaves them out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ui.dashboard import Dashboard, Seen

if not os.environ.get("LONGSHORE_TEST_UI"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """One longshore and one browser for all tests; each test has a page of its own."""
    from ui.dashboard import dashboard  # only here: `make test` reads this file too, and needs no browser

    with dashboard(tmp_path_factory.mktemp("longshore")) as running:
        yield running


@pytest.fixture
def seen(site: Dashboard) -> Iterator[Seen]:
    """A page of the administrator. Fails the test for console errors and requests that leave the origin."""
    with site.page() as page:
        yield page
    page.check()
