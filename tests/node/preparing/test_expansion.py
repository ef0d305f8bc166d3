"""`$(NAME)` as Kubernetes replaces it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.node.preparing.environment.expansion import expand, from_maps

VALUES = {"A": "1", "B": "$(A)", "EMPTY": "", "a b": "odd"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(A)z", "x1y1z"),
        ("$(EMPTY)|", "|"),
        ("$(a b)", "odd"),
        ("$(B)", "$(A)"),
        ("$(NONE)", "$(NONE)"),
        ("$()", "$()"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$$", "$"),
        ("$", "$"),
        ("$A", "$A"),
        ("$A$(A)", "$A1"),
        ("$(A", "$(A"),
        ("$($(A)", "$($(A)"),
        ("$($$", "$($"),
        ("$\n$(A)", "$\n1"),
        ("cost: $5 (five)", "cost: $5 (five)"),
        ("${A}", "${A}"),
    ],
)
def test_text_is_expanded_by_the_rules(text: str, expanded: str) -> None:
    assert expand(text, from_maps(VALUES)) == expanded


def by_the_letter(text: str) -> str:
    """The rules one character at a time."""
    out, i = "", 0
    while i < len(text):
        if text[i] != "$" or i + 1 == len(text):
            out, i = out + text[i], i + 1
        elif text[i + 1] == "$":
            out, i = out + "$", i + 2
        elif text[i + 1] == "(" and (end := text.find(")", i + 2)) >= 0:
            name = text[i + 2 : end]
            out, i = out + VALUES.get(name, f"$({name})"), end + 1
        else:
            out, i = out + text[i : i + 2], i + 2
    return out


@given(st.text(alphabet="$()AB xé\n", max_size=30))
def test_any_text_is_expanded_as_if_read_character_by_character(text: str) -> None:
    assert expand(text, from_maps(VALUES)) == by_the_letter(text)


@given(st.text(max_size=30))
def test_doubling_every_dollar_sign_keeps_any_text_as_it_is(text: str) -> None:
    assert expand(text.replace("$", "$$"), from_maps(VALUES)) == text


def test_maps_are_asked_in_order() -> None:
    assert expand("$(A) $(B)", from_maps({"A": "first"}, {"A": "second", "B": "b"})) == "first b"
