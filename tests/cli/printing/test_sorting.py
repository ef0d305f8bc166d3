"""The order of `--sort-by`: kubectl's."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.cli.printing.path_templates import by_field


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["10Gi", "9Gi", "500Mi", "1"], ["1", "500Mi", "9Gi", "10Gi"]),
        (["2", "1500m", "1e3"], ["1500m", "2", "1e3"]),
        (["10", "9", "nine"], ["10", "9", "nine"]),
        (["job-2", "job-10"], ["job-10", "job-2"]),
        ([10, 9.5, True], [True, 9.5, 10]),
        (["b", 3, "a"], [3, "a", "b"]),
        ([{"b": 1}, {"a": 1}], [{"a": 1}, {"b": 1}]),
    ],
)
def test_values_are_sorted_as_kubectl_sorts_them(values: list[Any], wanted: list[Any]) -> None:
    assert by_field([{"x": value} for value in values], ".x", lambda obj: obj) == [{"x": v} for v in wanted]


def test_objects_without_the_field_come_first() -> None:
    things: list[dict[str, Any]] = [{"x": 1}, {"x": "a"}, {}, {"x": None}]
    assert by_field(things, ".x", lambda obj: obj) == [{}, {"x": None}, {"x": 1}, {"x": "a"}]
