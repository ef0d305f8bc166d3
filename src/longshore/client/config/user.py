"""The user entry of a kubeconfig as credentials: certificate, token, token file, basic, exec plugin.

Refuses an entry with two ways to log in, and the old `auth-provider` plugins; the error names the
replacement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from longshore.api.types import Obj
from longshore.client.config.kubeconfig import ConfigEntry
from longshore.client.credentials import Basic, ClientCertificate, Credentials, NoCredentials, Token
from longshore.client.credentials.token_file import TokenFile

if TYPE_CHECKING:
    from longshore.client.credentials.exec_plugin import ExecSpec

_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_MODES = ("Never", "IfAvailable", "Always")


def credentials(account: ConfigEntry, cluster: ConfigEntry) -> Credentials:
    """How this user logs in at this cluster."""
    ways: dict[str, Credentials] = {}
    token, token_file = account.text("token"), account.path("tokenFile")
    if token_file is not None:
        ways["tokenFile"] = TokenFile(token_file, token)
    elif token:
        ways["token"] = Token(token)
    name = account.text("username")
    if name or account.text("password"):
        ways["username"] = Basic(name, account.text("password"))
    if account.content.get("exec") is not None:
        from longshore.client.credentials.exec_plugin import ExecPlugin

        ways["exec"] = ExecPlugin(_exec_spec(account, cluster))
    if account.content.get("auth-provider") is not None:
        raise account.error("auth-provider: no longer supported; use an exec plugin of your provider instead")
    if len(ways) > 1:
        raise account.error(f"{' and '.join(ways)}: only one way to log in is allowed; remove the others")
    certificate = _certificate(account)
    other = next(iter(ways.values()), None)
    if certificate is not None and other is not None:
        return _Both(certificate, other)
    return certificate or other or NoCredentials()


def impersonation(account: ConfigEntry) -> list[tuple[str, str]]:
    """Headers for `as`, `as-uid`, `as-groups` and `as-user-extra`."""
    name, uid = account.text("as"), account.text("as-uid")
    groups = account.content.get("as-groups") or []
    extra = account.content.get("as-user-extra") or {}
    if not isinstance(groups, list) or not isinstance(extra, dict):
        raise account.error("as-groups must be a list and as-user-extra a mapping")
    if not name:
        if groups or extra or uid:
            raise account.error("as: required when as-groups, as-uid or as-user-extra is set")
        return []
    headers = [("Impersonate-User", name)]
    if uid:
        headers.append(("Impersonate-Uid", uid))
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for key, values in extra.items():
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", str(value)) for value in values]
    return headers


class _Both(Credentials):
    """A client certificate for the connection and a header for the request, as kubectl sends both."""

    def __init__(self, certificate: Credentials, other: Credentials) -> None:
        self._certificate, self._other = certificate, other

    async def headers(self) -> dict[str, str]:
        return await self._certificate.headers() | await self._other.headers()

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._other.certificate() or self._certificate.certificate()

    def forget(self) -> bool:
        return any([self._certificate.forget(), self._other.forget()])


def _certificate(account: ConfigEntry) -> Credentials | None:
    halves = ("client-certificate", "client-key")
    if all(account.data(half) is None for half in halves):
        return None
    if any(account.text(half) and not account.text(f"{half}-data") for half in halves):
        from longshore.client.credentials.certificate_files import CertificateFiles

        return CertificateFiles(lambda: _pair(account))
    return ClientCertificate(*_pair(account))


def _pair(account: ConfigEntry) -> tuple[bytes, bytes]:
    cert, key = account.data("client-certificate"), account.data("client-key")
    if cert is None or key is None:
        missing = "client-certificate" if cert is None else "client-key"
        raise account.error(f"{missing}: required, since the other half of the pair is there")
    return cert, key


def _exec_spec(account: ConfigEntry, cluster: ConfigEntry) -> ExecSpec:
    from longshore.client.credentials.exec_plugin import ExecSpec

    content = account.content["exec"]
    if not isinstance(content, dict):
        raise account.error("exec: must be a mapping")
    plugin = ConfigEntry(account.name, content, account.file, f"{account.at}.exec")
    version, command = plugin.text("apiVersion"), plugin.text("command")
    if version not in _EXEC_VERSIONS:
        raise plugin.error(f"apiVersion: {version!r} is not supported; use {' or '.join(_EXEC_VERSIONS)}")
    if not command:
        raise plugin.error("command: required")
    if "/" in command:
        command = str(plugin.file.parent / command)
    mode = plugin.text("interactiveMode") or ("IfAvailable" if version.endswith("v1beta1") else "")
    if mode not in _MODES:
        raise plugin.error(f"interactiveMode: {mode!r} is not one of {', '.join(_MODES)}")
    args, env = content.get("args") or [], content.get("env") or []
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        raise plugin.error("args: must be a list of strings")
    if not isinstance(env, list) or not all(
        isinstance(pair, dict)
        and isinstance(pair.get("name"), str)
        and isinstance(pair.get("value", ""), str)
        for pair in env
    ):
        raise plugin.error("env: must be a list of name and value")
    return ExecSpec(
        api_version=version,
        command=command,
        args=tuple(args),
        env={pair["name"]: pair.get("value", "") for pair in env},
        interactive=mode,
        install_hint=plugin.text("installHint"),
        cluster=_cluster_info(cluster) if plugin.flag("provideClusterInfo") else None,
    )


def _cluster_info(cluster: ConfigEntry) -> Obj:
    """The description of the cluster that a plugin gets, with file names replaced by their content."""
    import base64

    info: Obj = {"server": cluster.text("server")}
    for key in ("tls-server-name", "proxy-url"):
        if cluster.text(key):
            info[key] = cluster.text(key)
    if cluster.flag("insecure-skip-tls-verify"):
        info["insecure-skip-tls-verify"] = True
    ca = cluster.data("certificate-authority")
    if ca is not None:
        info["certificate-authority-data"] = base64.b64encode(ca).decode()
    for extension in cluster.content.get("extensions") or ():
        if extension.get("name") == "client.authentication.k8s.io/exec":
            info["config"] = extension.get("extension")
    return info
