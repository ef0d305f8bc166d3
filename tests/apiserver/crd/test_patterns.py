"""Go's regular expressions: what they match, what is refused, and that no value keeps them busy."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api.structural import patterns
from longshore.api.structural.patterns import matches


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^a$", "a", "a\n"),
        ("b", "abc", "ac"),
        ("", "", None),
        ("^$", "", "a"),
        ("a|b|", "", None),
        ("^(a|bc)d$", "bcd", "abcd"),
        ("^a.c$", "abc", "a\nc"),
        ("(?s)^a.c$", "a\nc", "ac"),
        ("^a{2,3}$", "aaa", "aaaa"),
        ("^a{2,}$", "aaaaa", "a"),
        ("^a{2}$", "aa", "aaa"),
        ("^a{0}$", "", "a"),
        ("^a{,2}$", "a{,2}", "aa"),
        ("^(ab?)*?c$", "aabac", "abbc"),
        (r"\d+$", "x7", "x٣"),
        (r"^\w+\s\S\D\W$", "a_9 xy-", "a xy9"),
        ("^[[:alpha:]]+$", "aZ", "a1"),
        ("^[[:^alpha:]]+$", "19", "a1"),
        ("^[a[b]$", "[", "c"),
        ("^[]a]$", "]", "b"),
        ("^[^]a]$", "b", "]"),
        ("^[a-]$", "-", "b"),
        ("^[&&~|-]+$", "&-|", "a"),
        (r"^[\d\-.]+$", "1-2.3", "a"),
        (r"^a\z", "a", "a\n"),
        (r"\Aa", "ab", "ba"),
        (r"\bcat\b", "a cat!", "concatenate"),
        (r"\Bcat", "concat", "cat"),
        ("(?P<n>a)b", "ab", "b"),
        ("(?<n>a)b", "ab", "b"),
        ("(?i)^ABC[d-f]$", "abcE", "abd"),
        ("^a(?i:b)c$", "aBc", "aBC"),
        ("(?i)a(?-i)b", "Ab", "AB"),
        ("(?m)^b$", "a\nb\nc", "ab"),
        ("(?U)^a+$", "aa", "b"),
        (r"^\p{L}+$", "äΩ", "a1"),
        (r"^\P{Lu}$", "a", "A"),
        (r"^\pN$", "7", "a"),
        (r"^\p{Greek}+$", "Ω", "a"),
        (r"^\p{^Greek}$", "a", "Ω"),
        (r"^\Q\C\E\\C$", r"\C\C", "xy"),
        (r"^\x{2603}\x41\101$", "☃AA", "A"),
        (r"^\Qa.b\E+$", "a.bb", "axb"),
        (r"^a\.b\\$", "a.b\\", "axb\\"),
    ],
)
def test_patterns_mean_what_they_mean_in_go(pattern: str, matching: str, other: str | None) -> None:
    patterns.check(pattern)
    assert matches(pattern, matching)
    assert other is None or not matches(pattern, other)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("a(?!b)", "invalid or unsupported Perl syntax: `(?!`"),
        ("x(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?<!a>b)", "invalid named capture: `(?<!a>`"),
        ("(?P<x y>a)", "invalid named capture: `(?P<x y>`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        (r"(a)\8", r"invalid escape sequence: `\8`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"\\\C", r"invalid escape sequence: `\C`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(a{100}){100}", "invalid repeat count: `{100}`"),
        ("x[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
        ("a)", "unexpected ): `a)`"),
        ("(a", "missing closing ): `(a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|+", "missing argument to repetition operator: `+`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(" * 1001 + ")" * 1001, "expression nests too deeply"),
        ("((a{30}b){30}c)" * 1000, "expression too large: `((a{30}"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern: str, said: str) -> None:
    with pytest.raises(patterns.BadPattern, match=re.escape(f"error parsing regexp: {said}")):
        patterns.check(pattern)


def test_half_a_surrogate_pair_is_a_character_like_another() -> None:
    assert matches("^.$", "\ud800")
    assert not matches("^\ud801$", "\ud800")


def test_what_go_refuses_checks_no_value() -> None:
    assert matches("(", "anything")


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a*)*b", "(.*)(.*)(.*)(.*)x", "^(([a-z])+.)+[A-Z]$"]
)
def test_no_value_keeps_an_expression_busy(pattern: str) -> None:
    assert not matches(pattern, "a" * 20_000 + "!")


atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\b", "^", r"\d", " "])
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(expression=expressions, text=st.text("ab1 \n", max_size=8))
def test_it_agrees_with_pythons_engine_where_both_mean_the_same(expression: str, text: str) -> None:
    assert matches(expression, text) is (re.search(expression, text, re.ASCII) is not None)
