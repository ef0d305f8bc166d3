"""Writes the kubeconfig of a running longshore: one cluster, one user, everything inlined.

The file can be copied anywhere and works alone, and it is a secret: mode 0600.
"""

from __future__ import annotations

import base64
from pathlib import Path

from longshore.up.files import write_private
from longshore.up.pki import ADMIN, Pki

_TEXT = """\
# Written by `longshore up` at every start. Anyone who can read this file has full access to this longshore.
apiVersion: v1
kind: Config
clusters:
- name: longshore
  cluster:
    certificate-authority-data: {ca}
    server: {server}
users:
- name: {user}
  user:
    token: {token}
contexts:
- name: longshore
  context:
    cluster: longshore
    user: {user}
    namespace: default
current-context: longshore
preferences: {{}}
"""


def text(*, server: str, ca: bytes, token: str) -> str:
    """A kubeconfig for the admin of the server at this URL, whose certificate this authority has signed."""
    data = base64.b64encode(ca).decode("ascii")
    return _TEXT.format(ca=data, server=server, user=ADMIN, token=token)


def write(path: Path, *, server: str, pki: Pki, token: str) -> None:
    """Replaces `path` by such a kubeconfig."""
    write_private(path, text(server=server, ca=pki.ca_cert.read_bytes(), token=token).encode())
