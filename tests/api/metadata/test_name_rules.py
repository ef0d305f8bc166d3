"""Names, keys and values: what is fine, and the words for what is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api import identifiers, label_syntax, names

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("rule", "text", "problems"),
    [
        (names.dns1123_label, "a-1", []),
        (names.dns1123_label, "a" * 63, []),
        (names.dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.dns1123_label, "a.b", ["must not contain dots"]),
        (names.dns1123_label, "", [LABEL]),
        (names.dns1123_label, "a\n", [LABEL]),
        (names.dns1123_label, "A" * 64, ["must be no more than 63 characters", LABEL]),
        (names.dns1123_subdomain, "a.b-c", []),
        (names.dns1123_subdomain, "a" * 253, []),
        (names.dns1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (names.dns1123_subdomain, "a..b", [SUBDOMAIN]),
        (names.dns1123_subdomain, "ö" * 127, ["must be no more than 253 characters", SUBDOMAIN]),
        (names.dns1035_label, "a1", []),
        (label_syntax.qualified_name, "example.com/My_Name.1", []),
        (label_syntax.qualified_name, "", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        (label_syntax.qualified_name, "/x", ["prefix part must be non-empty"]),
        (label_syntax.qualified_name, "A/x", [f"prefix part {SUBDOMAIN}"]),
        (label_syntax.qualified_name, "p" * 254 + "/x", ["prefix part must be no more than 253 bytes"]),
        (label_syntax.qualified_name, "x" * 64, ["name part must be no more than 63 bytes"]),
        (
            label_syntax.qualified_name,
            "a/b/c",
            [
                f"a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
        (label_syntax.label_value, "", []),
        (label_syntax.label_value, "a_b.c", []),
        (label_syntax.label_value, "-a", [VALUE]),
        (label_syntax.label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (identifiers.env_var_name, "MY.var-1", []),
        (identifiers.env_var_name, "1 odd{name}", []),
        (identifiers.env_var_name, "", ["environment variable name must be non-empty"]),
        (identifiers.config_map_key, "..a", ["must not start with '..'"]),
        (identifiers.config_map_key, ".", ["must not be '.'"]),
        (identifiers.port_name, "http-1", []),
        (
            identifiers.port_name,
            "8-",
            ["must contain at least one letter (a-z)", "must not begin or end with a hyphen"],
        ),
        (identifiers.port_name, "a--b", ["must not contain consecutive hyphens"]),
        (names.path_segment, "any Thing!", []),
        (names.path_segment, "..", ["may not be '..'"]),
        (names.path_segment, "a/b%c", ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_a_rule_names_every_problem(rule: Callable[[str], list[str]], text: str, problems: list[str]) -> None:
    assert rule(text) == problems


@pytest.mark.parametrize("text", ["A=b", "é", "a\tb", "\x7f"])
def test_variables_are_named_in_printable_ascii_without_equals(text: str) -> None:
    assert identifiers.env_var_name(text) == [
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    ]


@pytest.mark.parametrize("text", ["10.0.0.1", "010.0.0.001", "::1", "::ffff:10.0.0.1", "2001:db8::ffff"])
def test_addresses_of_both_families_are_fine(text: str) -> None:
    assert identifiers.ip(text) == []


@pytest.mark.parametrize("text", ["", "10.0.0", "10.0.0.256", "10.0.0.1/8", "fe80::1%eth0", "x", "1.2.3.4\n"])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert identifiers.ip(text) == ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("acme.io/foo", []),
        ("acme.io/foo/bar~1", []),
        ("acme.io", [("acme.io", 'must be a domain-prefixed path (such as "acme.io/foo")')]),
        ("acme.io/", [("acme.io/", 'must be a domain-prefixed path (such as "acme.io/foo")')]),
        ("A/b", [("A", SUBDOMAIN)]),
        (
            "a/b c",
            [("b c", r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')")],
        ),
    ],
)
def test_a_domain_prefixed_path_names_the_part_that_is_wrong(
    text: str, problems: list[tuple[str, str]]
) -> None:
    assert identifiers.domain_prefixed_path(text) == problems


def test_a_generated_name_may_have_a_base_that_ends_in_a_dash() -> None:
    assert names.name_is_subdomain("job-", True) == []
    assert names.name_is_subdomain("job-", False) == [SUBDOMAIN]
    assert names.name_is_subdomain("-", True) == [SUBDOMAIN]
    assert names.name_is_subdomain("a.b.", True) == [SUBDOMAIN]
    assert names.name_is_path_segment("..", True) == []


@given(st.text(max_size=70))
def test_no_text_breaks_a_rule_and_repeating_it_changes_nothing(text: str) -> None:
    for rule in (
        label_syntax.qualified_name,
        label_syntax.label_value,
        names.dns1123_subdomain,
        identifiers.config_map_key,
    ):
        assert rule(text) == rule(text)
