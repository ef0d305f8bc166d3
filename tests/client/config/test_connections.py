"""From a context to a connection: what is honoured, what is refused as insecure, what is said."""

from __future__ import annotations

import base64
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from longshore.client.config import connection
from longshore.client.config.connection import Connection
from longshore.client.config.kubeconfig import ConfigEntry, Kubeconfig
from longshore.client.credentials import NoCredentials
from longshore.client.errors import ConfigError
from longshore.client.http import tls
from longshore.up import certificates

pytestmark = pytest.mark.anyio
FILE = Path("/etc/kube/config")


def kubeconfig(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **context: Any
) -> Kubeconfig:
    cluster = {"server": "https://one:6443"} if cluster is None else cluster
    linked = {"cluster": "c"} | ({} if user is None else {"user": "u"}) | context
    return Kubeconfig(
        clusters={"c": ConfigEntry("c", cluster, FILE, "clusters[0].cluster")},
        users={} if user is None else {"u": ConfigEntry("u", user, FILE, "users[0].user")},
        contexts={"x": ConfigEntry("x", linked, FILE, "contexts[0].context")},
        current_context="x",
        files=[FILE],
    )


def resolve(*args: Any, **kwargs: Any) -> Connection:
    return connection.resolve(kubeconfig(*args, **kwargs))


def test_server_namespace_and_options_of_the_context_are_taken() -> None:
    cluster = {
        "server": "https://one:6443/base/",
        "tls-server-name": "api.internal",
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
    }
    made = resolve(cluster, namespace="team")
    assert made.server == "https://one:6443/base"
    assert (made.namespace, made.tls_server_name, made.proxy) == ("team", "api.internal", "http://proxy:3128")
    assert not made.compress
    assert made.verify


def test_an_authority_may_have_comments_in_any_language_and_lines_of_base64() -> None:
    pem = certificates.authority(datetime.now(UTC), 1).cert_pem
    text = "# Főtanúsítvány\n".encode() + pem
    made = resolve({"server": "https://x", "certificate-authority-data": base64.encodebytes(text).decode()})
    assert made.ca == text
    assert len(tls.context(made, None).get_ca_certs()) == 1


@pytest.mark.parametrize("ca", [b"", b"\xff", b"no certificate"])
def test_an_authority_that_is_none_is_said_to_be(ca: bytes) -> None:
    with pytest.raises(ConfigError, match="certificate-authority of https://x is not PEM"):
        tls.context(Connection("https://x", ca=ca), None)


def test_a_server_without_a_scheme_is_https() -> None:
    assert resolve({"server": "one:6443"}).server == "https://one:6443"


def test_the_namespace_is_default_when_none_is_set() -> None:
    assert resolve().namespace == "default"


async def test_a_token_becomes_a_bearer_header() -> None:
    headers = await resolve(user={"token": "abc"}).credentials.headers()
    assert headers == {"Authorization": "Bearer abc"}


async def test_user_name_and_password_become_a_basic_header() -> None:
    headers = await resolve(user={"username": "me", "password": "secret"}).credentials.headers()
    assert headers == {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}


async def test_a_certificate_and_a_token_are_both_presented() -> None:
    pair = {"client-certificate-data": "Y2VydA==", "client-key-data": "a2V5"}
    both = resolve(user={**pair, "token": "t"}).credentials
    assert both.certificate() == (b"cert", b"key")
    assert await both.headers() == {"Authorization": "Bearer t"}


def test_a_user_without_anything_is_anonymous() -> None:
    assert isinstance(resolve(user={}).credentials, NoCredentials)


def test_impersonation_becomes_headers() -> None:
    user = {
        "token": "t",
        "as": "bob",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"acme/scope": ["x", "y"]},
    }
    assert resolve(user=user).headers == [
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-acme%2Fscope", "x"),
        ("Impersonate-Extra-acme%2Fscope", "y"),
    ]


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({}, None, r"clusters\[0\]\.cluster \('c'\): server: required"),
        ({"server": "ftp://x"}, None, "server: 'ftp://x' is not an http or https URL"),
        ({"server": "https://u:p@x"}, None, "server: must not contain a user name or password"),
        ({"server": 5}, None, "server: must be a string, not 5"),
        ({"server": "https://x", "proxy-url": "socks5://p"}, None, "only http and https proxies"),
        (
            {"server": "https://x", "certificate-authority-data": "%%"},
            None,
            "certificate-authority-data: not base64",
        ),
        (
            {"server": "https://x", "certificate-authority": "/nowhere"},
            None,
            "certificate-authority: cannot read /nowhere: No such file or directory",
        ),
        (
            {"server": "https://x", "certificate-authority-data": "eA==", "insecure-skip-tls-verify": True},
            None,
            "contradict each other; remove one",
        ),
        (
            None,
            {"token": "a", "username": "b"},
            r"users\[0\]\.user \('u'\): token and username: only one way",
        ),
        (None, {"client-key-data": "eA=="}, "client-certificate: required, since the other half"),
        (None, {"auth-provider": {"name": "gcp"}}, "auth-provider: no longer supported; use an exec plugin"),
        (None, {"token": "t", "as-groups": ["g"]}, "as: required when as-groups"),
        (None, {"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "is not supported; use"),
        (
            None,
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}},
            r"exec \('u'\): command: required",
        ),
        (
            None,
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}},
            "interactiveMode: '' is not one of Never, IfAvailable, Always",
        ),
        (
            None,
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "x", "args": "y"}},
            "args: must be a list of strings",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(
    cluster: dict[str, Any] | None, user: dict[str, Any] | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=f"kubeconfig /etc/kube/config: .*{message}"):
        resolve(cluster, user)


def test_credentials_are_not_sent_in_the_clear_to_another_machine() -> None:
    with pytest.raises(ConfigError, match="would travel in the clear to http://far:80"):
        resolve({"server": "http://far:80"}, {"token": "t"})
    assert resolve({"server": "http://127.0.0.1:80"}, {"token": "t"}).server == "http://127.0.0.1:80"
    assert resolve({"server": "http://far:80"}).server == "http://far:80"


def test_an_unverified_server_is_honoured_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert not resolve({"server": "https://x", "insecure-skip-tls-verify": True}).verify
    assert "the certificate of https://x is not verified" in caplog.text


def test_a_missing_context_cluster_or_user_lists_those_there_are() -> None:
    config = kubeconfig(user={})
    with pytest.raises(ConfigError, match="context 'y' does not exist; there are: x"):
        connection.resolve(config, "y")
    config.contexts["x"].content["cluster"] = "z"
    with pytest.raises(ConfigError, match="cluster: 'z' does not exist; there are: c"):
        connection.resolve(config)
    config.contexts["x"].content.update(cluster="c", user="z")
    with pytest.raises(ConfigError, match="user: 'z' does not exist; there are: u"):
        connection.resolve(config)
    config.current_context = ""
    with pytest.raises(ConfigError, match="no current-context, and no context was named; there are: x"):
        connection.resolve(config)


async def test_a_pod_finds_its_cluster(tmp_path: Path) -> None:
    for name, text in (("token", "tt\n"), ("ca.crt", "CA"), ("namespace", "ns\n")):
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert connection.in_cluster_available(environ, tmp_path)
    made = connection.in_cluster(environ, tmp_path)
    assert (made.server, made.namespace, made.ca) == ("https://[fd00::1]:443", "ns", b"CA")
    assert await made.credentials.headers() == {"Authorization": "Bearer tt"}
    assert not connection.in_cluster_available({}, tmp_path)
    with pytest.raises(ConfigError, match="not inside a cluster"):
        connection.in_cluster({}, tmp_path)
