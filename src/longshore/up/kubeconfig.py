"""Writes the kubeconfig of a running longshore: one cluster, one user, everything inlined.

The file can be copied anywhere and works alone, and it is a secret: mode 0600.
"""

from __future__ import annotations

import base64
from pathlib import Path

from longshore.client.config import kubeconfig
from longshore.up.files import write_private
from longshore.up.own_certificates import Pki


def text(*, server: str, ca: bytes, token: str) -> str:
    """A kubeconfig for the admin of the server at this URL, whose certificate this authority has signed."""
    return kubeconfig.own_text(server=server, ca=base64.b64encode(ca).decode("ascii"), token=token)


def write(path: Path, *, server: str, pki: Pki, token: str) -> None:
    """Replaces `path` by a kubeconfig for the admin of this server."""
    write_private(path, text(server=server, ca=pki.ca_cert.read_bytes(), token=token).encode())
