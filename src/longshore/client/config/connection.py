"""Turns a kubeconfig and a context into one `Connection`: server, trust, credentials, namespace.

Refuses settings that are insecure in ways people do not expect: a CA beside `insecure-skip-tls-verify`,
credentials over plain HTTP to another machine, two ways to log in at once. An explicit
`insecure-skip-tls-verify` is honoured and logged.
"""

from __future__ import annotations

import ipaddress
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from longshore.client.config import kubeconfig, user
from longshore.client.config.kubeconfig import ConfigEntry, Kubeconfig
from longshore.client.credentials import Credentials, NoCredentials
from longshore.client.credentials.token_file import TokenFile
from longshore.client.errors import ConfigError

log = logging.getLogger(__name__)


class Connection(msgspec.Struct):
    """Everything a client needs to know of a server."""

    server: str
    """`https://host:port`, perhaps with a path, no slash at the end."""
    namespace: str = "default"
    ca: bytes | None = None
    """PEM of the authorities to trust; None means the machine's own."""
    verify: bool = True
    tls_server_name: str = ""
    proxy: str = ""
    compress: bool = True
    credentials: Credentials = msgspec.field(default_factory=NoCredentials)
    headers: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """Headers of every request: impersonation."""

    @property
    def is_loopback(self) -> bool:
        return is_loopback(urlsplit(self.server).hostname or "")


def from_kubeconfig(
    path: Path | None = None, context: str = "", *, environ: Mapping[str, str] = os.environ
) -> Connection:
    """The connection that kubectl would use; in a pod without any kubeconfig, that to the pod's cluster."""
    config = kubeconfig.load(path, environ)
    if config.empty and path is None and not context:
        if in_cluster_available(environ):
            return in_cluster(environ)
        if environ.get("KUBECONFIG") and not config.files:
            raise ConfigError(
                f"$KUBECONFIG names {environ['KUBECONFIG']}, which does not exist; unset it, "
                "or start a longshore with: longshore up"
            )
        raise ConfigError(
            "no kubeconfig found (looked at $KUBECONFIG and ~/.kube/config); start one with: longshore up, "
            "or name a file with --kubeconfig"
        )
    return resolve(config, context)


def resolve(config: Kubeconfig, context: str = "") -> Connection:
    """The connection of one context of a loaded kubeconfig."""
    files = ", ".join(map(str, config.files)) or "(no file)"
    name = context or config.current_context
    if not name:
        raise ConfigError(
            f"kubeconfig {files}: no current-context, and no context was named; there are: {_names(config)}"
        )
    chosen = config.contexts.get(name)
    if chosen is None:
        raise ConfigError(f"kubeconfig {files}: context {name!r} does not exist; there are: {_names(config)}")
    cluster = _linked(chosen, "cluster", config.clusters)
    connection = _cluster(cluster)
    connection.namespace = chosen.text("namespace") or "default"
    if chosen.text("user"):
        account = _linked(chosen, "user", config.users)
        connection.credentials = user.credentials(account, cluster)
        connection.headers = user.impersonation(account)
        if not isinstance(connection.credentials, NoCredentials):
            _refuse_plain_http(connection, cluster, account)
    return connection


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _cluster(cluster: ConfigEntry) -> Connection:
    server = cluster.text("server").rstrip("/")
    if not server:
        raise cluster.error("server: required")
    if "://" not in server:
        server = "https://" + server
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise cluster.error(f"server: {server!r} is not an http or https URL")
    if parts.username or parts.password:
        raise cluster.error("server: must not contain a user name or password; use a user entry")
    ca = cluster.data("certificate-authority")
    insecure = cluster.flag("insecure-skip-tls-verify")
    if insecure and ca is not None:
        raise cluster.error(
            "certificate-authority and insecure-skip-tls-verify contradict each other; remove one"
        )
    if insecure:
        log.warning("the certificate of %s is not verified (insecure-skip-tls-verify)", server)
    return Connection(
        server=server,
        ca=ca,
        verify=not insecure,
        tls_server_name=cluster.text("tls-server-name"),
        proxy=_proxy(cluster),
        compress=not cluster.flag("disable-compression"),
    )


def _proxy(cluster: ConfigEntry) -> str:
    proxy = cluster.text("proxy-url")
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        raise cluster.error(f"proxy-url: only http and https proxies are supported, not {proxy!r}")
    return proxy


def _refuse_plain_http(connection: Connection, cluster: ConfigEntry, account: ConfigEntry) -> None:
    if connection.server.startswith("http://") and not connection.is_loopback:
        raise cluster.error(
            f"server: credentials of user {account.name!r} would travel in the clear to {connection.server}; "
            "use https, or a context without a user"
        )


def _linked(chosen: ConfigEntry, key: str, among: Mapping[str, ConfigEntry]) -> ConfigEntry:
    name = chosen.text(key)
    if not name:
        raise chosen.error(f"{key}: required")
    if name not in among:
        raise chosen.error(f"{key}: {name!r} does not exist; there are: {', '.join(among) or 'none'}")
    return among[name]


def _names(config: Kubeconfig) -> str:
    return ", ".join(config.contexts) or "none"


# ---- The connection of a pod to its own cluster: two environment variables and the service account's files.

FILES = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster_available(environ: Mapping[str, str], files: Path = FILES) -> bool:
    """Whether this process runs in a pod that may talk to its cluster."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (files / "token").is_file()


def in_cluster(environ: Mapping[str, str], files: Path = FILES) -> Connection:
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
