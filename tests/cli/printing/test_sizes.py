"""Sizes as people write them."""

from __future__ import annotations

import pytest

from longshore.cli.printing import columns


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (512 << 20, "512 MiB"),
        (1288490189, "1.2 GiB"),
        (8 << 30, "8 GiB"),
        (int(31.4 * (1 << 30)), "31 GiB"),
        (2 << 40, "2 TiB"),
    ],
)
def test_an_amount_has_the_unit_that_fits(amount: int, text: str) -> None:
    assert columns.size(amount) == text
