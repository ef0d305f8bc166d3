"""Says what images mean here: the commands and tools that pods of the process runtime get for them.

  longshore images
  longshore images add 'nginx:*' -- nginx -g 'daemon off;'
  longshore images add 'python:*' --path ~/.pyenv/versions/3.12.4/bin
  longshore images test nginx:1.27 registry.example/tools/lint
  longshore images remove 'nginx:*'

A pod's containers without a command run that of their image's entry. The entries are in images.yaml in the
data directory, or in the file that longshore up --images names; a running longshore follows it.
"""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags
from longshore.cli.main import Failure, did_you_mean
from longshore.cli.printing.columns import Columns
from longshore.cli.server import connecting, data_dir

if TYPE_CHECKING:
    from longshore.node.images.image_table import ImageEntry, ImageTable

TAKES_A_COMMAND = True


_ADD_FLAGS = """
pattern PATTERN    word  an image, * for any letters: nginx:*
--path DIR         list  a directory for PATH; may be repeated
--applets PROGRAM  text  busybox, say: its applets come first in PATH
"""


def add_arguments(parser: ArgumentParser) -> None:
    data_dir.add_arguments(parser)
    parser.add_argument("--images", type=Path, metavar="FILE", help="this file instead of the one in use")
    verbs = parser.add_subparsers(dest="verb", metavar="list|add|remove|test")
    flags.verb(verbs, "list", "show all entries (what the command does without a verb)")
    add = flags.verb(verbs, "add", "say what an image means; COMMAND comes after --")
    flags.table(add, _ADD_FLAGS)
    remove = flags.verb(verbs, "remove", "take an entry out of the file")
    remove.add_argument("pattern", metavar="PATTERN", help="the pattern as images list shows it")
    test = flags.verb(verbs, "test", "say what a container of an image would run")
    test.add_argument("image", nargs="+", metavar="IMAGE", help="an image as a manifest names it")


def run(arguments: Namespace) -> int:
    from longshore.node.images.image_table import BadImages

    if arguments.after_dashes and arguments.verb != "add":
        raise Failure("a command after -- is for: longshore images add PATTERN -- COMMAND", 2)
    file = _file(arguments)
    try:
        match arguments.verb:
            case "add":
                return _add(arguments, file)
            case "remove":
                return _remove(arguments.pattern, file)
            case "test":
                return _test(arguments.image, file)
        return _list(file)
    except BadImages as err:
        raise Failure(str(err), 2) from None


def _file(arguments: Namespace) -> Path:
    """The file in the arguments, else that of the longshore on the data directory, else its default."""
    from longshore.node.images import images_file

    if arguments.images is not None:
        return Path(arguments.images).expanduser().absolute()
    directory = data_dir.directory(arguments)
    return _in_use(directory) or directory / images_file.NAME


def _in_use(directory: Path) -> Path | None:
    """The file of the longshore that runs on a directory; None without one, or if it runs no pods."""
    from longshore.api.errors import StatusError
    from longshore.client.errors import ConfigError, Unreachable
    from longshore.up import own_pages

    if data_dir.holder(directory) is None:
        return None
    asked = Namespace(kubeconfig=directory / "kubeconfig", context="", namespace="")
    try:
        return Path(connecting.server(asked).json("GET", own_pages.IMAGES)["file"])
    except (ConfigError, StatusError, Unreachable, OSError):
        return None


def _list(file: Path) -> int:
    from longshore.node.images import images_file

    rows = [["IMAGES", "COMMAND", "TOOLS", "FROM"]]
    for row in images_file.read(file).rows:
        rows.append([row.pattern, _command(row.entry) or "-", _tools(row.entry) or "-", row.source])
    print(Columns().lines(rows), end="")
    return 0


def _add(arguments: Namespace, file: Path) -> int:
    from longshore.node.images import images_file
    from longshore.node.images.image_table import rows_of

    value: dict[str, object] = {"path": [str(Path(each).expanduser().absolute()) for each in arguments.path]}
    if arguments.after_dashes:
        value["command"] = arguments.after_dashes
    if arguments.applets:
        value["applets"] = arguments.applets
    if len(value) == 1 and not arguments.path:
        raise Failure(
            "give a command after --, --path or --applets: longshore images add PATTERN -- COMMAND", 2
        )
    (row,) = rows_of({arguments.pattern: value}, "file")
    _write(file, images_file.added(_text(file), arguments.pattern, row.entry))
    print(f'"{row.pattern}" is in {file}: {_meaning(row.entry)}')
    for problem in _lacks(row.entry):
        print(f"but {problem}")
    return 0


def _remove(pattern: str, file: Path) -> int:
    from longshore.node.images import images_file

    rows = [row.pattern for row in images_file.read_rows(file)]
    if pattern not in rows:
        raise Failure(f'{file} has no entry "{pattern}"{did_you_mean(pattern, rows)}', 2)
    _write(file, images_file.removed(_text(file), pattern))
    print(f'"{pattern}" is not in {file} any more')
    return 0


def _test(images: list[str], file: Path) -> int:
    """Prints what each image means; returns 0 if all of them can run here."""
    from longshore.node.images import images_file

    table, code = images_file.read(file), 0
    for image in images:
        said, is_good = _tested(image, table)
        print(said)
        code = code if is_good else 1
    return code


def _tested(image: str, table: ImageTable) -> tuple[str, bool]:
    from longshore.node.images.image_table import no_command

    row = table.find(image)
    if row is None:
        return f"{image}: {no_command('NAME', image, row)}", False
    lacks = _lacks(row.entry)
    where = "built in" if row.source == "built-in" else f'entry "{row.pattern}"'
    return f"{image}: {_meaning(row.entry)} ({where})" + "".join(f"\n  {each}" for each in lacks), not lacks


def _meaning(entry: ImageEntry) -> str:
    command, tools = _command(entry), _tools(entry)
    said = f"runs {command}" if command else "runs the container's own command"
    return f"{said}, with {tools}" if tools else said


def _command(entry: ImageEntry) -> str:
    return shlex.join((*entry.command, *entry.args))


def _tools(entry: ImageEntry) -> str:
    found = [f"the applets of {entry.applets}"] if entry.applets else []
    return ", ".join([*found, *entry.path])


def _lacks(entry: ImageEntry) -> list[str]:
    """The parts of an entry that are not on this machine, a sentence each."""
    import shutil

    from longshore.node.images import applets

    found = []
    path = [os.path.expanduser(directory) for directory in entry.path]
    found += [f"there is no directory {directory}" for directory in path if not os.path.isdir(directory)]
    if entry.applets and applets.file_of(entry.applets) is None:
        found.append(f"{entry.applets} is not installed: its applets and its shell are those of this machine")
    words = (*entry.command, *entry.args)
    search = os.pathsep.join([*path, os.environ.get("PATH", os.defpath)])
    if words and shutil.which(os.path.expanduser(words[0]), path=search) is None:
        found.append(f"there is no program {words[0]}")
    return found


def _text(file: Path) -> str:
    from longshore.node.images import images_file

    images_file.read_rows(file)  # says what is wrong with it, before anything is changed
    return file.read_text() if file.exists() else ""


def _write(file: Path, text: str) -> None:
    from longshore.up import files

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.write_private(file.resolve(), text.encode())
