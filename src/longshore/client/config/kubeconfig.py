"""Reads kubeconfig files and merges them by kubectl's rules. Checks shapes, decides nothing.

With `--kubeconfig` only that file counts, and it must exist. Otherwise every file in `$KUBECONFIG` counts
(missing ones are skipped), else `~/.kube/config`. The first file to name a cluster, user, context or the
current context wins. Paths inside a file are relative to that file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from longshore.api.types import Obj
from longshore.client.errors import ConfigError


class ConfigEntry(msgspec.Struct, frozen=True):
    """A cluster, user or context as written, and the file that defines it."""

    name: str
    content: Obj
    file: Path
    at: str
    """Where in the file, for messages: `users[1].user`."""

    def error(self, what: str) -> ConfigError:
        return ConfigError(f"kubeconfig {self.file}: {self.at} ({self.name!r}): {what}")

    def text(self, key: str) -> str:
        """A string field; empty when absent."""
        value = self.content.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(f"{key}: must be a string, not {value!r}")
        return value

    def flag(self, key: str) -> bool:
        value = self.content.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(f"{key}: must be true or false, not {value!r}")
        return bool(value)

    def path(self, key: str) -> Path | None:
        """A file name, taken relative to the kubeconfig that names it."""
        value = self.text(key)
        return self.file.parent / value if value else None

    def data(self, key: str) -> bytes | None:
        """The bytes of `<key>-data` (base64) or of the file `<key>`; the former wins, as in kubectl."""
        encoded = self.text(f"{key}-data")
        if encoded:
            import base64

            try:
                return base64.b64decode("".join(encoded.splitlines()), validate=True)  # Go skips line ends
            except ValueError as err:
                raise self.error(f"{key}-data: not base64: {err}") from None
        path = self.path(key)
        if path is None:
            return None
        try:
            return path.read_bytes()
        except OSError as err:
            raise self.error(f"{key}: cannot read {path}: {err.strerror}") from None


class Kubeconfig(msgspec.Struct):
    """All kubeconfig files, merged."""

    clusters: dict[str, ConfigEntry] = msgspec.field(default_factory=dict)
    users: dict[str, ConfigEntry] = msgspec.field(default_factory=dict)
    contexts: dict[str, ConfigEntry] = msgspec.field(default_factory=dict)
    current_context: str = ""
    files: list[Path] = msgspec.field(default_factory=list)
    """The files that exist and were read, in order."""

    @property
    def empty(self) -> bool:
        return not self.clusters and not self.contexts


def load(explicit: Path | None, environ: Mapping[str, str]) -> Kubeconfig:
    """The merged kubeconfig; an empty one when there is no file."""
    merged = Kubeconfig()
    if explicit is not None:
        _read(explicit.expanduser(), merged, must_exist=True)
    elif environ.get("KUBECONFIG"):
        for name in dict.fromkeys(environ["KUBECONFIG"].split(os.pathsep)):
            if name:
                _read(Path(name), merged, must_exist=False)
    else:
        home = environ.get("HOME")
        if home:
            _read(Path(home) / ".kube" / "config", merged, must_exist=False)
    return merged


def _read(path: Path, merged: Kubeconfig, *, must_exist: bool) -> None:
    path = path.absolute()
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(f"kubeconfig {path}: no such file") from None
        return
    except OSError as err:
        raise ConfigError(f"kubeconfig {path}: cannot read it: {err.strerror}") from None
    content = _read_own(raw) or _parsed(path, raw)
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise ConfigError(f"kubeconfig {path}: must be a mapping with clusters, users and contexts")
    _check_kind(path, content)
    merged.files.append(path)
    merged.current_context = merged.current_context or _current(path, content)
    for plural, singular, into in (
        ("clusters", "cluster", merged.clusters),
        ("users", "user", merged.users),
        ("contexts", "context", merged.contexts),
    ):
        for entry in _entries(path, content, plural, singular):
            into.setdefault(entry.name, entry)


def _parsed(path: Path, raw: bytes) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(raw, loader)  # a safe loader either way
    except (yaml.YAMLError, UnicodeDecodeError) as err:
        raise ConfigError(f"kubeconfig {path}: not YAML: {' '.join(str(err).split())}") from None


def _check_kind(path: Path, content: Obj) -> None:
    version, kind = content.get("apiVersion", "v1"), content.get("kind", "Config")
    if (version, kind) not in (("v1", "Config"), ("", "Config"), ("v1", "")):
        raise ConfigError(f"kubeconfig {path}: is a {kind} of {version}, not a Config of v1")


def _current(path: Path, content: Obj) -> str:
    current = content.get("current-context") or ""
    if not isinstance(current, str):
        raise ConfigError(f"kubeconfig {path}: current-context: must be a string, not {current!r}")
    return current


def _entries(path: Path, content: Obj, plural: str, singular: str) -> list[ConfigEntry]:
    rows: Any = content.get(plural)
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise ConfigError(f"kubeconfig {path}: {plural}: must be a list")
    out = []
    for index, row in enumerate(rows):
        where = f"{plural}[{index}]"
        if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not row["name"]:
            raise ConfigError(f"kubeconfig {path}: {where}: must be a mapping with a name")
        inner = row.get(singular)
        if inner is None:
            inner = {}
        if not isinstance(inner, dict):
            raise ConfigError(f"kubeconfig {path}: {where}.{singular}: must be a mapping")
        out.append(ConfigEntry(row["name"], inner, path, f"{where}.{singular}"))
    return out


# ---- The kubeconfig that `longshore up` writes: one cluster, one user, everything inlined.
#
# Reading it back by its layout is a shortcut: importing a YAML parser takes longer than reading the file
# (`cli.arguments.parsers.Formatter` has the figure). `_read_own` returns what the parser would, or None for
# any other text. LONGSHORE_SHORTCUTS=off turns it off.

USER: Final = "longshore-admin"
_TEXT: Final = """\
# Written by `longshore up` at every start. Anyone who can read this file has full access to this longshore.
apiVersion: v1
kind: Config
clusters:
- name: longshore
  cluster:
    certificate-authority-data: {ca}
    server: {server}
users:
- name: longshore-admin
  user:
    token: {token}
contexts:
- name: longshore
  context:
    cluster: longshore
    user: longshore-admin
    namespace: default
current-context: longshore
preferences: {{}}
"""
_PLAIN: Final = re.compile(
    "data: (?P<ca>LS0t[A-Za-z0-9+/]+=*)\n"
    " +server: (?P<server>https://[a-z0-9.-]+:[0-9]+)\n.*"
    " +token: (?P<token>[0-9a-f]*[acdf][0-9a-f]*)\n",
    re.DOTALL,
)
"""Values that YAML reads as text. A token of digits alone, for example, would be a number."""


def own_text(*, server: str, ca: str, token: str) -> str:
    """The file's text. `ca` is the certificate of the authority that signs the server's, in base64."""
    return _TEXT.format(server=server, ca=ca, token=token)


def _read_own(content: bytes) -> Obj | None:
    """The file as a mapping; None if `longshore up` did not write it."""
    if os.environ.get("LONGSHORE_SHORTCUTS") == "off":
        return None
    whole = content.decode(errors="replace")
    values = _PLAIN.search(whole)
    if values is None or own_text(**values.groupdict()) != whole:
        return None
    cluster = {"certificate-authority-data": values["ca"], "server": values["server"]}
    context = {"cluster": "longshore", "user": USER, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "longshore", "cluster": cluster}],
        "users": [{"name": USER, "user": {"token": values["token"]}}],
        "contexts": [{"name": "longshore", "context": context}],
        "current-context": "longshore",
        "preferences": {},
    }
