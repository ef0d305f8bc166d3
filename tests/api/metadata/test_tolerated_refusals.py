"""Refusals that a caller does not mind."""

from __future__ import annotations

import pytest

from longshore.api import errors


def test_the_named_codes_and_reasons_are_passed_over_and_no_others() -> None:
    for refusal in (404, "NotFound"):
        with errors.tolerated(409, refusal):
            raise errors.not_found("batch", "jobs", "x")
    with pytest.raises(errors.StatusError), errors.tolerated(404):
        raise errors.already_exists("batch", "jobs", "x")
    with pytest.raises(ValueError, match="not the server's"), errors.tolerated(404):
        raise ValueError("not the server's")
