"""Quantities are exact, and their text is the one Kubernetes writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api import quantity
from longshore.api.quantity import QuantityError

_CANONICAL = {
    "0": "0", "00": "0", "0Ki": "0", "-0": "0", ".": "0", "m": "0",
    "0.5": "500m", ".5": "500m", "1.50": "1500m", "-0.5": "-500m", "1000m": "1", "0.1m": "100u",
    "1000": "1k", "10000000": "10M", "2048": "2048", "100000000000000000000": "100E", "1E": "1E",
    "1024Mi": "1Gi", "0.5Gi": "512Mi", "1000000Ki": "1000000Ki", "0.5Ki": "512", "1.1Gi": "1181116006400m",
    "0.1Ki": "102400m", "100Ei": "9223372036854775807", "-1024Mi": "-1Gi",
    "1e3": "1e3", "1E3": "1E3", "1e4": "10e3", "1000e0": "1e3", "12e-1": "1200e-3",
    "1e999999999": "1e999999999",
    "0.0000000001": "1n", "-0.0000000001": "-1n",
    # Kept as written, because a cheap test takes them for canonical.
    "+5": "+5", "1.500": "1.500", "007": "007", "1.": "1.",
}  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), _CANONICAL.items())
def test_the_canonical_text_is_that_of_kubernetes(text: str, canonical: str) -> None:
    assert quantity.canonical(text) == canonical


@pytest.mark.parametrize("text", ["", "one", "1 Ki", "1Kx", "1.2.3", "1e5.5", "1\n", "\u0663", "9" * 401])
def test_text_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="quantities must match the regular expression"):
        quantity.canonical(text)


@pytest.mark.parametrize("text", ["1K", "1e", "1mm", "--1", "1Kii", "1e99999999999999999999"])
def test_an_unknown_suffix_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        quantity.canonical(text)


@pytest.mark.parametrize(
    ("a", "b", "order"), [("1", "1000m", 0), ("1Gi", "1G", 1), ("-1", "0", -1), ("1e999999999", "1E", 1)]
)
def test_comparison_looks_at_the_amount(a: str, b: str, order: int) -> None:
    assert quantity.compare(a, b) == order
    assert quantity.compare(b, a) == -order


def test_sums_keep_the_format_of_the_first_unless_it_is_zero() -> None:
    assert quantity.add("1Gi", "512Mi") == "1536Mi"
    assert quantity.add("0", "1Gi") == "1Gi"
    assert quantity.add("100m", "1") == "1100m"
    assert quantity.subtract("1Gi", "1Gi") == "0"
    assert quantity.subtract("1", "1500m") == "-500m"


def test_a_number_is_the_quantity_that_its_text_is() -> None:
    assert quantity.parse(2) == quantity.parse("2")


def test_values_are_rounded_away_from_zero() -> None:
    assert (quantity.value("1.1"), quantity.value("-1.1"), quantity.value("1Ki")) == (2, -2, 1024)
    assert (quantity.milli_value("0.0001"), quantity.milli_value("2")) == (1, 2000)
    assert quantity.value("1e999999999") == 2**63 - 1


def test_resource_lists_round_up_to_thousandths() -> None:
    assert quantity.ceiling_to_milli("0.1m") == "1m"
    assert quantity.ceiling_to_milli("1500u") == "2m"
    assert quantity.ceiling_to_milli("0.5") == "500m"


@given(
    st.integers(1 - 10**12, 10**12 - 1),  # 10**21 and more have no suffix, and Kubernetes writes none
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-3", "E2"]),
)
def test_canonical_text_means_the_same_and_is_stable(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"
    canonical = quantity.canonical(text)
    assert quantity.compare(text, canonical) == 0
    assert quantity.canonical(canonical) == canonical
