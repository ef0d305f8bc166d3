"""`longshore diff` shows what apply would change; `edit` sends what a person changed in the editor.

`delete` takes away what a selector chooses of a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.command_line import Result
from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")


def config(name: str, data: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {data}}}\n"


def test_diff_shows_changed_lines_and_writes_nothing(longshore: Command) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("differs", "{a: one, b: two}"))
    done = longshore("diff", "-f", "-", stdin=config("differs", "{a: one, b: three}"))
    assert (done.exit, done.stderr) == (1, "")
    first = (
        r"diff -u -N /\S+/LIVE-\d+/v1.ConfigMap.default.differs /\S+/MERGED-\d+/v1.ConfigMap.default.differs"
    )
    assert re.match(first, done.stdout)
    assert "\n-  b: two\n+  b: three\n" in done.stdout
    assert longshore.ok("get", "cm/differs", "-o", "jsonpath={.data.b}") == "two"
    same = longshore("diff", "-f", "-", stdin=config("differs", "{a: one, b: two}"))
    assert (same.exit, same.stdout) == (0, "")


def test_diff_of_a_new_object_shows_it_whole(longshore: Command) -> None:
    done = longshore("diff", "-f", "-", stdin=config("fresh", "{a: one}"))
    assert done.exit == 1
    assert "+  name: fresh\n" in done.stdout
    assert longshore("get", "cm/fresh").exit == 1


def test_diff_hides_values_of_secrets(longshore: Command) -> None:
    def secret(value: str) -> str:
        data = f"{{k: {value}, same: c2FtZQ==}}"
        return f"{{apiVersion: v1, kind: Secret, metadata: {{name: hidden}}, data: {data}}}"

    longshore.ok("apply", "-f", "-", stdin=secret("b25l"))
    done = longshore("diff", "-f", "-", stdin=secret("dHdv"))
    assert "-  k: '*** (before)'\n+  k: '*** (after)'\n" in done.stdout
    assert "  same: '***'\n" in done.stdout
    assert "+  k: dHdv\n" in longshore("diff", "--show-secrets", "-f", "-", stdin=secret("dHdv")).stdout


def test_diff_errs_with_more_than_1_and_takes_another_program(longshore: Command) -> None:
    assert longshore("diff", "-f", "-", stdin=config("bad", "3")).exit == 2
    assert longshore("diff", "-f", "-", stdin="kind: x").exit == 2
    longshore.env["KUBECTL_EXTERNAL_DIFF"] = "diff -r -N"
    try:
        done = longshore("diff", "-f", "-", stdin=config("fresh", "{a: one}"))
    finally:
        del longshore.env["KUBECTL_EXTERNAL_DIFF"]
    assert (done.exit, done.stdout.startswith("diff -r -N /")) == (1, True)
    longshore.env["KUBECTL_EXTERNAL_DIFF"] = "/not/there"
    try:
        done = longshore("diff", "-f", "-", stdin=config("fresh", "{a: one}"))
    finally:
        del longshore.env["KUBECTL_EXTERNAL_DIFF"]
    assert (done.exit, done.stderr.startswith("error: cannot run /not/there: No such file")) == (2, True)


def edited(longshore: Command, tmp_path: Path, script: str, *words: str) -> Result:
    """The result of an edit whose editor is this shell script; $1 is the file."""
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/seen\necho x >> {tmp_path}/times\n{script}\n')
    editor.chmod(0o755)
    longshore.env["KUBE_EDITOR"] = str(editor)
    try:
        return longshore("edit", *words)
    finally:
        del longshore.env["KUBE_EDITOR"]


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_edit_sends_what_changed(longshore: Command, tmp_path: Path, output: str) -> None:
    longshore.ok("apply", "-f", "-", stdin=config(f"edit-{output}", "{a: one, b: two}"))
    done = edited(longshore, tmp_path, 'sed -i s/one/three/ "$1"', f"cm/edit-{output}", "-o", output)
    assert (done.exit, done.stdout) == (0, f"configmap/edit-{output} edited\n"), done.stderr
    assert longshore.ok("get", f"cm/edit-{output}", "-o", "jsonpath={.data.a} {.data.b}") == "three two"
    assert (tmp_path / "seen").read_text().startswith("# Please edit" if output == "yaml" else "{")


def test_edit_takes_lines_away(longshore: Command, tmp_path: Path) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("less", "{a: one, b: two}"))
    edited(longshore, tmp_path, 'sed -i "/ a: one/d" "$1"', "cm", "less")
    assert longshore.ok("get", "cm/less", "-o", "jsonpath={.data}") == '{"b":"two"}'


@pytest.mark.parametrize(
    ("script", "said"),
    [("true", "Edit cancelled, no changes made.\n"), (': > "$1"', "Edit cancelled, saved file was empty.\n")],
)
def test_edit_without_a_change_sends_nothing(
    longshore: Command, tmp_path: Path, script: str, said: str
) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("calm", "{a: one}"))
    done = edited(longshore, tmp_path, script, "cm/calm")
    assert (done.exit, done.stdout, done.stderr) == (0, "", said)


def test_a_refused_change_is_opened_again_with_the_reason(longshore: Command, tmp_path: Path) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("stern", "{a: one}"))
    script = f'if [ $(wc -l < {tmp_path}/times) = 1 ]; then sed -i "s/ a: one/ a: one\\nnope: 1/" "$1"; fi'
    done = edited(longshore, tmp_path, script, "cm/stern")
    assert done.exit == 1
    assert 'unknown field "nope"' in (tmp_path / "seen").read_text()
    assert done.stderr.endswith("error: Edit cancelled, no valid changes were saved.\n")
    reason, copy, _ = done.stderr.splitlines()
    assert 'unknown field "nope"' in reason
    kept = Path(copy.split('"')[1])
    assert "nope: 1" in kept.read_text()
    kept.unlink()


def test_a_refused_change_can_be_mended(longshore: Command, tmp_path: Path) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("mended", "{a: one}"))
    script = (
        f'if [ $(wc -l < {tmp_path}/times) = 1 ]; then sed -i "s/ a: one/ a: [/" "$1"; '
        'else sed -i "s/ a: \\[/ a: two/" "$1"; fi'
    )
    done = edited(longshore, tmp_path, script, "cm/mended")
    assert (done.exit, done.stdout) == (0, "configmap/mended edited\n"), done.stderr


def test_edit_of_several_objects_sends_each_change(longshore: Command, tmp_path: Path) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("e1", "{a: one}") + "---\n" + config("e2", "{a: one}"))
    done = edited(longshore, tmp_path, 'sed -i "s/ a: one/ a: 2x/" "$1"', "cm/e1", "cm/e2")
    assert done.stdout == "configmap/e1 edited\nconfigmap/e2 edited\n"


def test_names_cannot_be_edited_and_an_editor_that_is_not_there_is_named(
    longshore: Command, tmp_path: Path
) -> None:
    longshore.ok("apply", "-f", "-", stdin=config("fixed", "{a: one}"))
    script = f'if [ $(wc -l < {tmp_path}/times) = 1 ]; then sed -i "s/ name: fixed/ name: other/" "$1"; fi'
    done = edited(longshore, tmp_path, script, "cm/fixed")
    assert "'other' was not opened: names and kinds stay as they are" in (tmp_path / "seen").read_text()
    Path(done.stderr.split('"')[1]).unlink()
    longshore.env["KUBE_EDITOR"] = "/not/there"
    done = longshore("edit", "cm/fixed")
    assert done.stderr.startswith("error: cannot run the editor '/not/there': No such file")
    longshore.env["KUBE_EDITOR"] = "vim -c 'set"
    done = longshore("edit", "cm/fixed")
    del longshore.env["KUBE_EDITOR"]
    assert done.stderr.startswith(
        'error: cannot run the editor "vim -c \'set": No closing quotation; set EDITOR'
    )


def test_delete_leaves_objects_of_a_file_that_a_selector_does_not_choose(longshore: Command) -> None:
    objects = "---\n".join(
        f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: of-{app}, labels: {{app: {app}}}}}}}\n"
        for app in ("web", "database")
    )
    longshore.ok("apply", "-f", "-", stdin=objects)
    assert (
        longshore.ok("get", "-f", "-", "-l", "app=web", "-o", "name", stdin=objects) == "configmap/of-web\n"
    )
    gone = longshore.ok("delete", "-f", "-", "-l", "app=web", stdin=objects)
    assert gone == 'configmap "of-web" deleted from default namespace\n'
    assert longshore.ok("get", "cm/of-database", "-o", "name") == "configmap/of-database\n"
    none = longshore("delete", "-f", "-", "-l", "app=cache", stdin=objects)
    assert (none.exit, none.stdout, none.stderr) == (0, "", "No resources found\n")
