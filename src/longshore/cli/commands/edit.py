"""Opens objects in your editor and sends the changes, as kubectl edit does.

  longshore edit job/pi
  KUBE_EDITOR=nano longshore edit cronjob nightly -o json

The editor is $KUBE_EDITOR, else $EDITOR, else vi. Saved changes that the server refuses are opened again with
the reason at the top; an unchanged or empty file ends the command.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.cli.arguments import flags, manifest_files, targets
from longshore.cli.main import Said
from longshore.cli.printing import objects
from longshore.cli.server import connecting, refusals
from longshore.cli.server.apply_request import VALIDATION

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.targets import Target
    from longshore.cli.server.requests import Server

INTERMIXED = True


_FLAGS: Final = """
--output, -o       yaml|json=yaml       the form to edit (default: yaml)
--subresource S    text                 edit this subresource: status, scale
--field-manager M  text=longshore-edit  who sets the fields
"""


def add_arguments(parser: ArgumentParser) -> None:
    targets.add_arguments(parser, everywhere=False)
    flags.table(parser, _FLAGS)
    flags.validation(parser)
    flags.switch(parser, "--show-managed-fields", help="show managedFields: who set which field")


def run(arguments: Namespace) -> int:
    with connecting.opened(arguments) as server:
        chosen = targets.chosen(server, arguments)
        found = [one for target in chosen for one in _each(server, target, arguments)]
        if not found:
            raise Said("error: there is nothing to edit", 1)
        return _edit(server, found, arguments)


# Changes are sent as JSON merge patches, so fields that other clients write meanwhile stay.

_INTRODUCTION: Final = """\
# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
"""


class Edited(NamedTuple):
    """An object to edit, as it was fetched."""

    target: Target
    obj: Obj


def _each(server: Server, target: Target, arguments: Namespace) -> list[Edited]:
    """The objects of a target: the one that it names, or all of its kind that the selectors match."""
    path = target.kind.path(target.namespace, target.name, arguments.subresource if target.name else "")
    answer = server.json("GET", path, query={} if target.name else targets.selectors(arguments))
    typed = {"apiVersion": target.kind.api_version, "kind": target.kind.kind}
    found = [answer] if target.name else [{**typed, **item} for item in answer["items"]]
    if not arguments.show_managed_fields:
        found = [objects.without_managed_fields(obj) for obj in found]
    return [Edited(target.of(obj), obj) for obj in found]


def _edit(server: Server, found: Sequence[Edited], arguments: Namespace) -> int:
    """Edits until all changes are accepted or the person gives up; returns the exit code."""
    text = _shown(found, arguments.output)
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="longshore-edit-") as folder:
        file = Path(folder, f"object.{arguments.output}")
        while True:
            comment = "".join(f"# {line}\n" for problem in problems for line in problem.splitlines())
            opened = (
                (_INTRODUCTION + comment + ("#\n" if comment else "") + text)
                if _comments(arguments)
                else text
            )
            file.write_text(opened)
            _open(file)
            saved = file.read_text()
            body = _without_comments(saved) if _comments(arguments) else saved
            if not body.strip() or body == text:
                return _unchanged(saved, bool(problems), empty=not body.strip(), suffix=file.suffix)
            text = body
            try:
                problems = _send(server, found, body, arguments)
            except Said as err:
                problems = [str(err)]
            if not problems:
                return 0
            print("\n".join(problems), file=sys.stderr)


def _comments(arguments: Namespace) -> bool:
    """Whether the format has comments. JSON has none: there a refusal is only on standard error."""
    return bool(arguments.output == "yaml")


def _shown(found: Sequence[Edited], output: str) -> str:
    whole = found[0].obj if len(found) == 1 else objects.as_list([one.obj for one in found])
    return objects.as_yaml(whole) if output == "yaml" else objects.as_json(whole)


def _without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def _open(file: Path) -> None:
    editor = os.environ.get("KUBE_EDITOR") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
    except (OSError, ValueError) as err:  # ValueError: a quote that is not closed
        reason = err.strerror if isinstance(err, OSError) else err
        raise Said(f"error: cannot run the editor {editor!r}: {reason}; set EDITOR to another", 2) from None
    if code:
        raise Said(f"error: there was a problem with the editor {editor!r}: exit code {code}")


def _unchanged(saved: str, refused: bool, *, empty: bool, suffix: str) -> int:
    if not refused:
        print(
            "Edit cancelled, " + ("saved file was empty." if empty else "no changes made."), file=sys.stderr
        )
        return 0
    fd, kept = tempfile.mkstemp(prefix="longshore-edit-", suffix=suffix)
    with os.fdopen(fd, "w") as file:
        file.write(saved)
    print(f'A copy of your changes has been stored to "{kept}"', file=sys.stderr)
    raise Said("error: Edit cancelled, no valid changes were saved.")


def _send(server: Server, found: Sequence[Edited], body: str, arguments: Namespace) -> list[str]:
    """Sends every change; returns the server's refusals."""
    problems = []
    for manifest in list(manifest_files.parse(body.encode(), "the edited file")):
        before = next((one for one in found if _same(one.obj, manifest.obj)), None)
        if before is None:
            name = manifest.obj["metadata"].get("name", "")
            problems.append(
                f"error: {manifest.obj['kind']} {name!r} was not opened: names and kinds stay as they are"
            )
            continue
        change = _change(before.obj, manifest.obj)
        if not change:
            continue
        try:
            _patch(server, before.target, change, arguments)
        except StatusError as err:
            problems.append(refusals.text(err))
            continue
        print(f"{before.target.text} edited")
    return problems


def _same(a: Obj, b: Obj) -> bool:
    keys = ("name", "namespace")
    return all(a.get(key) == b.get(key) for key in ("apiVersion", "kind")) and all(
        a["metadata"].get(key) == b["metadata"].get(key) for key in keys
    )


def _patch(server: Server, target: Target, change: Obj, arguments: Namespace) -> None:
    query = {"fieldManager": arguments.field_manager, "fieldValidation": VALIDATION[arguments.validate]}
    path = target.kind.path(target.namespace, target.name, arguments.subresource)
    server.json("PATCH", path, query=query, body=change, content_type="application/merge-patch+json")


def _change(before: Any, after: Any) -> Obj:
    """The merge patch that turns one object into the other."""
    patch: Obj = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            if inner := _change(old, value):
                patch[key] = inner
        elif key not in before or old != value:
            patch[key] = value
    return patch
