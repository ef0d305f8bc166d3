"""The `Date` of an answer, as HTTP wants it."""

from __future__ import annotations

import email.utils

import pytest

from longshore.apiserver.http import response


@pytest.mark.parametrize(
    "second", [0, 951_782_399, 1_798_761_599, *range(1_790_000_000, 1_830_000_000, 3_333_333)]
)
def test_a_date_is_written_as_mail_writes_it(second: int) -> None:
    assert response._date(second).decode() == email.utils.formatdate(second, usegmt=True)
