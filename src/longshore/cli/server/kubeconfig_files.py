"""Changes to a person's kubeconfig: one cluster, user and context of a name come or go, all else stays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.client.config.connection import is_loopback
from longshore.up import files

_PARTS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}


def read(file: Path) -> Obj:
    """The content of a kubeconfig; an empty one when there is no file."""
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


def merge(file: Path, own: Obj, name: str, *, use: bool) -> str:
    """Puts the context of `own` into a file under this name; returns the file's current context."""
    content = read(file)
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
    """A cluster of this name on another machine is somebody else's."""
    for row in content.get("clusters") or ():
        server = str((row.get("cluster") or {}).get("server", ""))
        if row.get("name") == name and not is_loopback(urlsplit(server).hostname or ""):
            raise Failure(f"{file} has a cluster {name!r} at {server}; choose another name with --name")


def remove(file: Path, name: str) -> bool:
    """Takes the entries of this name out; False when there is no such context."""
    content = read(file)
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
