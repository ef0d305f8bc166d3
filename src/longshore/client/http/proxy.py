"""The proxy for a server: the kubeconfig's, else HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

The rules are Go's, as in kubectl: loopback is never proxied; NO_PROXY takes names, suffixes, addresses,
networks and ports.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from longshore.client.config.connection import Connection, is_loopback
from longshore.client.errors import ConfigError


def proxy_for(connection: Connection, environ: Mapping[str, str]) -> str | None:
    """The proxy's URL; None to connect directly."""
    if connection.proxy:
        return connection.proxy
    parts = urlsplit(connection.server)
    host, scheme = parts.hostname or "", parts.scheme
    variable = f"{scheme.upper()}_PROXY"
    proxy = environ.get(variable) or environ.get(variable.lower()) or ""
    if not proxy or is_loopback(host):
        return None
    port = str(parts.port or (443 if scheme == "https" else 80))
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if any(_excepts(rule.strip().lower(), host, port) for rule in exceptions.split(",")):
        return None
    if "://" not in proxy:
        proxy = "http://" + proxy
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise ConfigError(f"{variable}: only http and https proxies are supported, not {proxy!r}")
    return proxy


def authorization(proxy: str) -> dict[str, str]:
    """The Proxy-Authorization header, if the proxy's URL has a user and password; else no header."""
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(secret).decode()}"}


def _excepts(rule: str, host: str, port: str) -> bool:
    if not rule:
        return False
    if rule == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(rule, strict=False)
    except ValueError:
        pass  # the rule or the host is a name
    name, colon, rule_port = rule.rpartition(":")
    if colon and rule_port.isdigit():
        if rule_port != port:
            return False
        rule = name
    rule = rule.removeprefix("*")
    return host.endswith(rule) if rule.startswith(".") else host == rule or host.endswith("." + rule)
