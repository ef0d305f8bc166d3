"""Adds this longshore to the kubeconfig that kubectl reads by itself, and removes it again.

  longshore kubeconfig merge --use     afterwards plain kubectl talks to this longshore
  longshore kubeconfig merge --name here
  longshore kubeconfig remove
  longshore kubeconfig print --server https://build.example:6443     for another machine (see up --listen)

Other clusters, users and contexts of the file stay as they are; comments in it do not survive.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from longshore.api.types import Obj
from longshore.cli.arguments import flags
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Failure
from longshore.cli.server import data_dir
from longshore.client.config.connection import is_loopback
from longshore.up import files

_FLAGS = """
--name NAME  text=longshore  name of cluster, user and context (default: longshore)
--into F     path            the kubeconfig to change (default: ~/.kube/config)
"""


def add_arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="merge|remove|print", required=True)
    about = "Adds this longshore to a kubeconfig, or renews it there."
    merge = flags.verb(verbs, "merge", "add this longshore to a kubeconfig", about)
    remove = flags.verb(verbs, "remove", "remove it from a kubeconfig", "Removes what merge has added.")
    about = "Prints this longshore's kubeconfig, the admin's token in it, with another address."
    shown = flags.verb(verbs, "print", "print a kubeconfig for another machine", about)
    address = "address that the other machine reaches this longshore by"
    shown.add_argument("--server", required=True, type=_server, metavar="URL", help=address)
    data_dir.add_arguments(shown)
    for each in (merge, remove):
        flags.table(each, _FLAGS, path=Path)
        each.set_defaults(into=Path("~/.kube/config"))
    switch(merge, "--use", help="make it the current context, too")
    data_dir.add_arguments(merge)


def run(arguments: Namespace) -> int:
    from longshore.up import secrets

    if arguments.verb == "print":
        print(_for_others(_read(data_dir.kubeconfig(arguments)), arguments.server), end="")
        return 0
    file = arguments.into.expanduser().resolve()
    if arguments.verb == "remove":
        if _remove(file, arguments.name):
            print(f"removed context {arguments.name!r} from {file}")
        else:
            print(f"{file} has no context {arguments.name!r}")
        return 0
    source = data_dir.kubeconfig(arguments)
    own = _read(source)
    secrets.note_kubeconfig(source.parent, file)
    current = _merge(file, own, arguments.name, use=arguments.use)
    print(f"added context {arguments.name!r} to {file}")
    if current == arguments.name:
        print("it is the current context: try kubectl get jobs")
    else:
        print(f"use it with: kubectl --context {arguments.name} get jobs")
    return 0


def _for_others(own: Obj, server: str) -> str:
    import yaml

    own["clusters"][0]["cluster"]["server"] = server
    return yaml.safe_dump(own, sort_keys=False)


def _server(text: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.path not in ("", "/"):
        raise ArgumentTypeError(f"{text!r} is not an address such as https://build.example:6443")
    return text.rstrip("/")


_PARTS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}


def _read(file: Path) -> Obj:
    """The content of a kubeconfig; an empty kubeconfig if there is no file."""
    import yaml

    try:
        content = yaml.safe_load(file.read_bytes())
    except FileNotFoundError:
        content = None
    except OSError as err:
        raise Failure(f"cannot read {file}: {err.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as err:
        raise Failure(f"{file} is not YAML: {' '.join(str(err).split())}") from None
    if content is None:
        content = {"apiVersion": "v1", "kind": "Config"}
    if not isinstance(content, dict) or any(not _is_list(content.get(part)) for part in _PARTS):
        raise Failure(f"{file} is not a kubeconfig: it needs lists of clusters, users and contexts")
    return content


def _is_list(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(each, dict) for each in value))


def _merge(file: Path, own: Obj, name: str, *, use: bool) -> str:
    """Puts the context of `own` into a file under this name; returns the file's current context."""
    content = _read(file)
    _refuse_strangers(file, content, name)
    for part, key in _PARTS.items():
        entry = dict(own[part][0][key])
        if part == "contexts":
            entry |= {"cluster": name, "user": name}
        rows = [row for row in content.get(part) or () if row.get("name") != name]
        content[part] = [*rows, {"name": name, key: entry}]
    if use or not content.get("current-context"):
        content["current-context"] = name
    _write(file, content)
    return str(content["current-context"])


def _refuse_strangers(file: Path, content: Obj, name: str) -> None:
    """Refuses to change a cluster of this name that is on another machine: it is not this longshore."""
    for row in content.get("clusters") or ():
        server = str((row.get("cluster") or {}).get("server", ""))
        if row.get("name") == name and not is_loopback(urlsplit(server).hostname or ""):
            raise Failure(f"{file} has a cluster {name!r} at {server}; choose another name with --name")


def _remove(file: Path, name: str) -> bool:
    """Removes the entries of this name; returns False if there is no such context."""
    content = _read(file)
    if not any(row.get("name") == name for row in content.get("contexts") or ()):
        return False
    _refuse_strangers(file, content, name)
    for part in _PARTS:
        content[part] = [row for row in content.get(part) or () if row.get("name") != name]
    if content.get("current-context") == name:
        content["current-context"] = ""
    _write(file, content)
    return True


def _write(file: Path, content: Obj) -> None:
    import yaml

    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_private(file, yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode())
    except OSError as err:
        raise Failure(f"cannot write {file}: {os.strerror(err.errno or 0)}") from None
