"""The connection of a pod to its own cluster: two environment variables and the service account's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from longshore.client.config.connection import Connection
from longshore.client.credentials.token_file import TokenFile
from longshore.client.errors import ConfigError

FILES = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def available(environ: Mapping[str, str], files: Path = FILES) -> bool:
    """Whether this process runs in a pod that may talk to its cluster."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (files / "token").is_file()


def connection(environ: Mapping[str, str], files: Path = FILES) -> Connection:
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(
            "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        )
    if ":" in host:
        host = f"[{host}]"
    try:
        ca = (files / "ca.crt").read_bytes()
    except OSError as err:
        raise ConfigError(f"cannot read {files / 'ca.crt'}: {err.strerror}") from None
    try:
        namespace = (files / "namespace").read_text().strip()
    except OSError:
        namespace = "default"
    return Connection(
        server=f"https://{host}:{port}", namespace=namespace, ca=ca, credentials=TokenFile(files / "token")
    )
