"""YAML is read as Kubernetes' parser reads it: YAML 1.1, first document, duplicates reported."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api import codec
from longshore.api.codec import DecodeError


def _value(text: str) -> Any:
    return codec.plain_yaml(f"v: {text}".encode()).value["v"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True), ("Yes", True), ("on", True), ("TRUE", True), ("n", False), ("OFF", False), ("nO", "nO"),
        ("~", None), ("", None), ("null", None), ('"y"', "y"), ("'~'", "~"), ("yy", "yy"),
        ("5", 5), ("+5", 5), ("-5", -5), ("1_000", 1000), ("0777", 511), ("0o17", 15), ("08", 8),
        ("0x1F", 31), ("0b101", 5), ("-0b11", -3), ("99999999999999999999", 99999999999999999999),
        ("2.0", 2), ("1e3", 1000), (".5", 0.5), ("1.5", 1.5), ("1.", 1), ("1e30", 1e30), ("1.2.3", "1.2.3"),
        ("2026-01-01", "2026-01-01"), ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("!!str 5", "5"), ("!!int \"5\"", 5), ("!!float 5", 5), ("!custom x", "x"), ("!!binary YWI=", "ab"),
        ("0.5Gi", "0.5Gi"), ("1e3k", "1e3k"), (".", "."), ("|\n  a\n  b\n", "a\nb\n"), ("<<", "<<"),
    ],
)  # fmt: skip
def test_scalars_resolve_as_in_go(text: str, value: Any) -> None:
    found = _value(text)
    assert (found, type(found)) == (value, type(value))


def test_keys_become_strings() -> None:
    assert codec.plain_yaml(b"1: a\n1.5: b\ny: c\n").value == {"1": "a", "1.5": "b", "true": "c"}


def test_only_the_first_document_counts() -> None:
    assert codec.plain_yaml(b"a: 1\n---\nb: 2\n").value == {"a": 1}
    assert codec.plain_yaml(b"").value is None


def test_duplicate_keys_are_reported_with_their_lines_and_the_last_one_counts() -> None:
    plain = codec.plain_yaml(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n1: x\n1: z\n")
    assert plain.value == {"a": 3, "b": {"c": 2}, "1": "z"}
    assert plain.problems == [
        "yaml: unmarshal errors:\n"
        '  line 4: key "c" already set in map\n'
        '  line 5: key "a" already set in map\n'
        "  line 7: key 1 already set in map"
    ]


def test_yaml_findings_come_before_those_of_the_schema() -> None:
    decoded = codec.read_yaml(b"spec:\n  z: 1\n  a: 1\nkind: Job\nkind: Job\n").decode("batch/v1.Job")
    assert decoded.kind == "Job"
    assert decoded.problems == [
        'yaml: unmarshal errors:\n  line 5: key "kind" already set in map',
        'unknown field "spec.a"',
        'unknown field "spec.z"',
    ]


def test_aliases_and_merges_are_followed() -> None:
    plain = codec.plain_yaml(b"base: &b {a: 1, l: [x]}\nc: *b\nd:\n  <<: *b\n  a: 2\n")
    assert plain.value == {"base": {"a": 1, "l": ["x"]}, "c": {"a": 1, "l": ["x"]}, "d": {"a": 2, "l": ["x"]}}
    assert plain.value["base"] is not plain.value["c"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a: [", "yaml: line 1: did not find expected node content"),
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"a: 1\nb\nc: 2\n", "yaml: line 3: could not find expected ':'"),
        (b"a: \x01", "yaml: control characters are not allowed"),
        (b"a: *x", "yaml: unknown anchor 'x' referenced"),
        (b"&a [*a]", "yaml: anchor 'a' value contains itself"),
        (b"a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"a: .nan", "json: unsupported value: NaN"),
        (b"<<: 5", "yaml: map merge requires map or sequence of maps as the value"),
        (b"[" * 20_000, "yaml: exceeded max depth of 10000"),
    ],
)
def test_what_cannot_be_read_is_refused_in_gos_words(raw: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        codec.plain_yaml(raw)
    assert str(caught.value) == text


def test_documents_that_explode_through_aliases_are_refused() -> None:
    lines = ["a: &a [" + ", ".join(["x"] * 9) + "]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [" + ", ".join([f"*{before}"] * 9) + "]")
    with pytest.raises(DecodeError, match="excessive aliasing"):
        codec.plain_yaml("\n".join(lines).encode())


def test_a_number_written_as_a_float_fits_an_integer_field() -> None:
    decoded = codec.read_yaml(b"spec: {parallelism: 2.0, completions: 1e1}").decode("batch/v1.Job")
    assert (decoded.obj["spec"]["parallelism"], decoded.obj["spec"]["completions"]) == (2, 10)


def test_an_unquoted_word_for_a_boolean_does_not_fit_a_string() -> None:
    with pytest.raises(
        DecodeError, match=r"cannot unmarshal bool into Go struct field ObjectMeta.metadata.name"
    ):
        codec.read_yaml(b"metadata: {name: y}").decode("batch/v1.Job")
