"""The formats that are checked."""

from __future__ import annotations

import pytest

from longshore.api.structural import formats


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2024-05-06T07:08:09Z", "2024-05-06 07:08:09"),
        ("date-time", "2024-05-06t07:08:09.123-02:00", "2024-13-06T07:08:09Z"),
        ("date", "2024-02-29", "2023-02-29"),
        ("byte", "aGk=", "a"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("ipv4", "10.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("mac", "00:1b:44:11:3a:b7", "00:1b"),
        ("hostname", "a.example.com", "-a"),
        ("email", "a@example.com", "a"),
        ("uri", "https://example.com/a?b", "nowhere"),
        ("duration", "1h30m", "soon"),
        ("duration", "3 days", "3 moons"),
        ("quantity", "1Gi", "lots"),
        ("k8s-short-name", "abc-1", "a.b"),
        ("k8s-long-name", "a.b", "A.b"),
        ("hexcolor", "#fff", "#ggg"),
        ("rgbcolor", "rgb(1, 2, 3)", "rgb(1)"),
        ("isbn", "978-0321751041", "978-0321751042"),
        ("isbn10", "0321751043", "0321751044"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("ssn", "123-45-6789", "12"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
    ],
)
def test_known_formats_are_checked(name: str, good: str, bad: str) -> None:
    check = formats.check_of(name)
    assert check is not None
    assert check(good)
    assert not check(bad)


def test_formats_nobody_checks_are_found_wherever_they_are() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "format": "uint32"},
            "b": {"type": "array", "items": {"type": "string", "format": "odd"}},
            "c": {"type": "integer", "format": "int64"},
        },
    }
    assert sorted(formats.unknown(schema)) == ["odd", "uint32"]
