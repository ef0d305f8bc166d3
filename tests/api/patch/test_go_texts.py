"""Values in messages look as Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api import gotext


@pytest.mark.parametrize(
    ("value", "plain", "syntax", "type_"),
    [
        (None, "<nil>", "interface {}(nil)", "<nil>"),
        (True, "true", "true", "bool"),
        (7, "7", "7", "int64"),
        (1.5, "1.5", "1.5", "float64"),
        (100000.0, "100000", "100000", "float64"),
        (1e6, "1e+06", "1e+06", "float64"),
        (123456789.5, "1.234567895e+08", "1.234567895e+08", "float64"),
        (-0.00001, "-1e-05", "-1e-05", "float64"),
        ("a b", "a b", '"a b"', "string"),
        ([1, "x"], "[1 x]", '[]interface {}{1, "x"}', "[]interface {}"),
        ({"b": 1, "a": {}}, "map[a:map[] b:1]",
         'map[string]interface {}{"a":map[string]interface {}{}, "b":1}', "map[string]interface {}"),
    ],
)  # fmt: skip
def test_a_value_is_printed_as_go_prints_it(value: Any, plain: str, syntax: str, type_: str) -> None:
    assert gotext.plain(value) == plain
    assert gotext.syntax(value) == syntax
    assert gotext.type_name(value) == type_
