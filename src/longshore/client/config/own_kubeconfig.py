"""The kubeconfig that `longshore up` writes: one cluster, one user, everything inlined.

Reading it back by its layout is a shortcut: importing a YAML parser takes longer than reading the file
(`cli.arguments.parsers.Formatter` has the figure). `read` returns what the parser would, or None for any
other text. LONGSHORE_SHORTCUTS=off turns it off.
"""

from __future__ import annotations

import os
import re
from typing import Final

from longshore.api.types import Obj

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


def text(*, server: str, ca: str, token: str) -> str:
    """The file's text. `ca` is the certificate of the authority that signs the server's, in base64."""
    return _TEXT.format(server=server, ca=ca, token=token)


def read(content: bytes) -> Obj | None:
    """The file as a mapping; None if `longshore up` did not write it."""
    if os.environ.get("LONGSHORE_SHORTCUTS") == "off":
        return None
    whole = content.decode(errors="replace")
    values = _PLAIN.search(whole)
    if values is None or text(**values.groupdict()) != whole:
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
