"""Which proxy a server is reached through."""

from __future__ import annotations

import pytest

from longshore.client.config.connection import Connection
from longshore.client.errors import ConfigError
from longshore.client.http.proxy import proxy_for

PROXY = {"HTTPS_PROXY": "http://proxy:3128"}


def test_the_variable_counts_and_the_kubeconfig_counts_more() -> None:
    assert proxy_for(Connection("https://api.example.org"), PROXY) == "http://proxy:3128"
    assert proxy_for(Connection("https://api.example.org", proxy="http://own:1"), PROXY) == "http://own:1"
    assert (
        proxy_for(Connection("https://api.example.org"), {"https_proxy": "proxy:3128"}) == "http://proxy:3128"
    )
    assert proxy_for(Connection("http://api.example.org"), PROXY) is None
    assert proxy_for(Connection("https://api.example.org"), {}) is None


@pytest.mark.parametrize("server", ["https://127.0.0.1:6443", "https://[::1]:6443", "https://localhost:6443"])
def test_loopback_is_never_proxied(server: str) -> None:
    assert proxy_for(Connection(server), PROXY) is None


@pytest.mark.parametrize(
    ("rule", "direct"),
    [
        ("*", True),
        ("example.org", True),
        (".example.org", True),
        ("*.example.org", True),
        ("api.example.org:6443", True),
        ("api.example.org:443", False),
        ("other.org, api.example.org", True),
        ("ample.org", False),
        ("", False),
    ],
)
def test_no_proxy_names(rule: str, direct: bool) -> None:
    chosen = proxy_for(Connection("https://api.example.org:6443"), PROXY | {"NO_PROXY": rule})
    assert (chosen is None) is direct


@pytest.mark.parametrize(("rule", "direct"), [("10.0.0.0/8", True), ("10.1.2.3", True), ("10.1.2.4", False)])
def test_no_proxy_addresses(rule: str, direct: bool) -> None:
    chosen = proxy_for(Connection("https://10.1.2.3:6443"), PROXY | {"NO_PROXY": rule})
    assert (chosen is None) is direct


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY: only http and https proxies are supported"):
        proxy_for(Connection("https://x"), {"HTTPS_PROXY": "socks5://p:1"})
