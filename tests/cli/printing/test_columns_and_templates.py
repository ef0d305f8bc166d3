"""How text is put into columns, and what templates find: pure."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.cli.main import Failure
from longshore.cli.printing.columns import Columns, aligned
from longshore.cli.printing.objects import as_json, as_list, without_managed_fields, writer
from longshore.cli.printing.path_templates import custom_columns, jsonpath
from longshore.cli.printing.tables import Printer, written

POD = {
    "metadata": {"name": "a", "labels": {"x/y": "1"}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]},
    "n": 3,
    "on": True,
}


def test_cells_of_neighbouring_lines_share_a_width() -> None:
    assert aligned("a:\tb\nlong:\tc\nplain\nd:\te\n") == "a:     b\nlong:  c\nplain\nd:  e\n"


def test_inner_columns_are_aligned_within_their_own_block() -> None:
    assert aligned("a\tb\tc\nd\tlonger\te\nf\tg\n") == "a  b       c\nd  longer  e\nf  g\n"


def test_control_sequences_in_objects_are_written_out_and_do_not_reach_the_terminal() -> None:
    assert aligned("Image:\tbusy\x1b[31mbox\x07\r\n") == "Image:  busy^[[31mbox^G\\r\n"
    assert Columns().lines([["a\x1b]0;title\x07", "\x9b2J"]]) == "a^[]0;title^G   \\x9b2J\n"
    assert Columns().lines([["naïve", "日本"]]) == "naïve   日本\n"


def test_a_growing_table_keeps_its_widths() -> None:
    columns = Columns()
    assert columns.lines([["NAME", "AGE"], ["pi", "1s"]]) == "NAME   AGE\npi     1s\n"
    assert columns.lines([["e", "2s"]]) == "e      2s\n"
    assert columns.lines([["a-long-name", "3s"]]) == "a-long-name   3s\n"


@pytest.mark.parametrize(
    ("cell", "text"), [(None, ""), (True, "true"), (7, "7"), ("one\ntwo", "one..."), ("", "")]
)
def test_cells_are_one_line_of_text(cell: Any, text: str) -> None:
    assert written(cell) == text


def test_a_table_shows_what_was_asked_for() -> None:
    definitions = [
        {"name": "Name", "format": "name", "priority": 0},
        {"name": "Age", "priority": 0},
        {"name": "Node", "priority": 1},
    ]
    row = {"cells": ["a", "1s", "vm"], "object": {"metadata": {"namespace": "ns", "labels": {"x/y": "1"}}}}
    table = {"columnDefinitions": definitions, "rows": [row]}
    assert Printer().text(table).split() == ["NAME", "AGE", "a", "1s"]
    shown = Printer(wide=True, prefix="pod/", with_namespace=True, labels=["x/y"], all_labels=True).text(
        table
    )
    header, line = (text.split() for text in shown.splitlines())
    assert header == ["NAMESPACE", "NAME", "AGE", "NODE", "Y", "LABELS"]
    assert line == ["ns", "pod/a", "1s", "vm", "1", "x/y=1"]
    later = Printer(headers=False)
    assert later.text(table) == later.text({"rows": [row]}) == "a     1s\n"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.metadata.name}", "a"),
        ("{.metadata.labels.x/y}", "1"),
        ("{.n} {.on}{'\\n'}", "3 true\n"),
        ("{.missing}", ""),
        ("{.status.conditions[*].type}", "Ready Old"),
        ('{.status.conditions[?(@.type=="Ready")].status}', "True"),
        ('{range .status.conditions[*]}{.type}={.status}{"\\n"}{end}', "Ready=True\nOld=False\n"),
        ("{range .status.conditions[*]}{$.metadata.name}{end}", "aa"),
        ("{.status.conditions[1]}", '{"status":"False","type":"Old"}'),
        ("plain", "plain"),
        ("{range .metadata.labels}{}{end}", '{"x/y":"1"}'),
        ("{..type}", "Ready Old"),
        ("{.metadata..x/y}", "1"),
        ("{.status..conditions[0].type}", "Ready"),
        ("{range ..conditions[*]}{.type},", "Ready,Old,"),
        ("{..missing}", ""),
        ('{"\\""}', '"'),
        ("{'\\''}", "'"),
        ("""{'"'}{"'"}""", "\"'"),
        (r'{"\a\x41\101\u00e9\U0001F600\\"}', "\aAA\xe9\U0001f600\\"),
        ('{ "{x}" }', "{x}"),
    ],
)
def test_a_template_is_filled_in(template: str, text: str) -> None:
    assert jsonpath(template)(POD) == text


@pytest.mark.parametrize(
    "template",
    [
        "{.a",
        "{end}",
        "{.status.conditions[2].type}",
        "{range .status.conditions[-3]}{end}",
        r'{"\x"}',
        r'{"\u12"}',
        r'{"\UFFFFFFFF"}',
        r"""{"\'"}""",
        '{"a\nb"}',
        '{"a"b}',
        '{"a',
        "{range .status}" * 2000,
        "{.a" + "[?(@.b" * 200 + ")]" * 200 + "}",
    ],
)
def test_a_template_that_is_none_is_refused(template: str) -> None:
    with pytest.raises(Failure):
        jsonpath(template)(POD)


@pytest.mark.parametrize(
    ("template", "documents"),
    [
        ("{.metadata.name}", [["a"]]),
        ("{.missing}", [[]]),
        ("{.status.conditions[*].type}", [["Ready", "Old"]]),
        ('{.metadata.labels}{"\\n"}x', [[{"x/y": "1"}], ["\n"], ["x"]]),
        ("{range .status.conditions[*]}{.type}{$.n}{end}", [["Ready"], [3], ["Old"], [3]]),
    ],
)
def test_each_part_of_a_template_may_be_a_document_of_its_own(template: str, documents: list[Any]) -> None:
    assert writer(f"jsonpath-as-json={template}")(POD) == "".join(map(as_json, documents))


def test_custom_columns_are_a_table() -> None:
    table = custom_columns("NAME:.metadata.name,GONE:.x.y")
    assert table([POD]) == "NAME   GONE\na      <none>\n"
    with pytest.raises(Failure, match="expected <header>:<json-path-expr>"):
        custom_columns("NAME")


def test_objects_are_written_as_go_writes_them() -> None:
    assert as_json({"b": "<a&b>", "a": [1]}) == (
        '{\n    "a": [\n        1\n    ],\n    "b": "\\u003ca\\u0026b\\u003e"\n}\n'
    )
    assert as_list([{}])["kind"] == "List"
    kept = {"metadata": {"name": "a"}}
    assert without_managed_fields({"metadata": {"name": "a", "managedFields": []}}) == kept
    with pytest.raises(Failure, match="unable to match a printer"):
        writer("xml")
