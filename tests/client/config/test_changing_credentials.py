"""Credentials that change under way: token files and exec plugins."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from longshore.client.config.connection import Connection
from longshore.client.config.kubeconfig import ConfigEntry
from longshore.client.config.user import credentials
from longshore.client.credentials import Credentials
from longshore.client.credentials.certificate_files import CertificateFiles
from longshore.client.credentials.exec_plugin import ExecPlugin, ExecSpec
from longshore.client.credentials.token_file import TokenFile
from longshore.client.errors import ConfigError, CredentialsError
from longshore.client.http import tls
from longshore.up import certificates
from longshore.up.certificates import Pair

pytestmark = pytest.mark.anyio
V1 = "client.authentication.k8s.io/v1"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def bearer(source: TokenFile | ExecPlugin) -> str:
    return (await source.headers())["Authorization"].removeprefix("Bearer ")


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    clock = Clock()
    (tmp_path / "t").write_text("one\n")
    source = TokenFile(tmp_path / "t", clock=clock)
    assert await bearer(source) == "one"
    (tmp_path / "t").write_text("two\n")
    clock.now = 59
    assert await bearer(source) == "one"
    clock.now = 60
    assert await bearer(source) == "two"


async def test_a_token_file_is_read_again_after_a_401(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("one")
    source = TokenFile(tmp_path / "t", clock=Clock())
    await source.headers()
    (tmp_path / "t").write_text("two")
    assert source.forget()
    assert await bearer(source) == "two"


async def test_a_token_file_that_vanishes_leaves_the_last_token(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("one")
    source = TokenFile(tmp_path / "t", clock=Clock())
    await source.headers()
    (tmp_path / "t").unlink()
    source.forget()
    assert await bearer(source) == "one"


async def test_a_token_file_that_never_was_or_is_empty_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="cannot read the token in"):
        await TokenFile(tmp_path / "t").headers()
    (tmp_path / "t").write_text(" \n")
    with pytest.raises(CredentialsError, match="is empty"):
        await TokenFile(tmp_path / "t").headers()


def a_user() -> Pair:
    ca = certificates.authority(datetime.now(UTC), 1)
    return certificates.user(ca, datetime.now(UTC), 1, "somebody", "")


def put(folder: Path, pair: Pair) -> tuple[bytes, bytes]:
    (folder / "c").write_bytes(pair.cert_pem)
    (folder / "k").write_bytes(pair.key_pem)
    return pair.cert_pem, pair.key_pem


def named(folder: Path, **more: str) -> Credentials:
    """The user of a kubeconfig that names files."""
    content = {"client-certificate": "c", "client-key": "k", **more}
    user = ConfigEntry("u", content, folder / "config", "users[0].user")
    return credentials(
        user, ConfigEntry("c", {"server": "https://x"}, folder / "config", "clusters[0].cluster")
    )


@pytest.mark.parametrize("more", [{}, {"token": "t"}])
async def test_a_certificate_in_files_is_read_again_after_a_401(tmp_path: Path, more: dict[str, str]) -> None:
    old = put(tmp_path, a_user())
    source = named(tmp_path, **more)
    new = put(tmp_path, a_user())
    await source.headers()
    assert source.certificate() == old
    assert source.forget()
    await source.headers()
    assert source.certificate() == new


async def test_a_certificate_in_files_is_read_again_after_a_minute_when_both_are_new(tmp_path: Path) -> None:
    clock, old = Clock(), put(tmp_path, a_user())
    source = CertificateFiles(
        lambda: ((tmp_path / "c").read_bytes(), (tmp_path / "k").read_bytes()), clock=clock
    )
    new = a_user()
    (tmp_path / "c").write_bytes(new.cert_pem)
    for clock.now in (59, 60):
        await source.headers()
        assert source.certificate() == old
    put(tmp_path, new)
    clock.now = 120
    await source.headers()
    assert source.certificate() == (new.cert_pem, new.key_pem)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere files are on a disk")
def test_a_certificate_needs_no_disk_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    user = a_user()
    tls.context(Connection("https://x"), (user.cert_pem, user.key_pem))
    with pytest.raises(ConfigError, match="cannot be used"):
        tls.context(Connection("https://x"), (user.cert_pem, a_user().key_pem))


async def test_certificate_files_that_vanish_leave_the_last_certificate(tmp_path: Path) -> None:
    old = put(tmp_path, a_user())
    source = named(tmp_path)
    (tmp_path / "k").unlink()
    source.forget()
    await source.headers()
    assert source.certificate() == old


def test_a_pair_that_does_not_fit_may_pass_and_is_tried_again() -> None:
    (cert, _), (_, key) = ((pair.cert_pem, pair.key_pem) for pair in (a_user(), a_user()))
    with pytest.raises(CredentialsError, match="the client certificate and key for https://s cannot be used"):
        tls.context(Connection("https://s", verify=False), (cert, key))


def plugin(tmp_path: Path, script: str, **more: Any) -> ExecPlugin:
    file = tmp_path / "plugin"
    file.write_text("#!/bin/sh\n" + script)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    clock = more.pop("clock", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    spec: dict[str, Any] = {
        "api_version": V1,
        "command": str(file),
        "args": (),
        "env": {},
        "interactive": "Never",
    }
    return ExecPlugin(ExecSpec(**(spec | more)), clock=clock)


def answer(**status: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status})


async def test_a_plugin_runs_once_until_its_token_expires(tmp_path: Path) -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    script = f"""
    echo run >> {tmp_path}/runs
    printf '%s' '{answer(token="t", expirationTimestamp="2026-01-01T01:00:00Z")}'
    """
    source = plugin(tmp_path, script, clock=lambda: now[0])
    await asyncio.gather(*(source.headers() for _ in range(5)))
    assert await bearer(source) == "t"
    assert (tmp_path / "runs").read_text() == "run\n"
    now[0] += timedelta(hours=1)
    await source.headers()
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


async def test_a_plugin_runs_again_after_a_401(tmp_path: Path) -> None:
    source = plugin(tmp_path, f"echo run >> {tmp_path}/runs; printf '%s' '{answer(token='t')}'")
    await source.headers()
    assert source.forget()
    await source.headers()
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


async def test_a_plugin_gets_its_arguments_environment_and_the_cluster(tmp_path: Path) -> None:
    script = f"""
    echo "$1 $COLOUR" > {tmp_path}/seen
    echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info
    printf '%s' '{answer(token="t")}'
    """
    await plugin(
        tmp_path, script, args=("login",), env={"COLOUR": "red"}, cluster={"server": "https://x"}
    ).headers()
    assert (tmp_path / "seen").read_text() == "login red\n"
    assert json.loads((tmp_path / "info").read_text()) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {"interactive": False, "cluster": {"server": "https://x"}},
    }


async def test_a_plugin_may_give_a_client_certificate(tmp_path: Path) -> None:
    given = answer(clientCertificateData="CERT", clientKeyData="KEY")
    source = plugin(tmp_path, f"printf '%s' '{given}'")
    assert await source.headers() == {}
    assert source.certificate() == (b"CERT", b"KEY")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "failed with exit code 3"),
        ("echo nonsense", "printed something that is not JSON"),
        ("echo '{}'", "did not print an ExecCredential"),
        ('echo \'{"kind":"ExecCredential","apiVersion":"v9"}\'', "answered in version 'v9'"),
        (f"printf '%s' '{answer()}'", "gave neither a token nor a client certificate"),
        (
            f"printf '%s' '{answer(clientKeyData='k')}'",
            "must give clientCertificateData and clientKeyData together",
        ),
        (
            f"printf '%s' '{answer(token='t', expirationTimestamp='soon')}'",
            "gave an expirationTimestamp that is no",
        ),
    ],
)
async def test_a_plugin_that_misbehaves_is_named(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(CredentialsError, match=f"exec plugin '.*/plugin' of the kubeconfig {message}"):
        await plugin(tmp_path, script).headers()


async def test_a_missing_plugin_shows_its_install_hint(tmp_path: Path) -> None:
    source = plugin(tmp_path, "", command="no-such-plugin", install_hint="get it at example.org")
    with pytest.raises(CredentialsError, match=r"is not on the PATH\nget it at example\.org"):
        await source.headers()


async def test_a_plugin_is_never_taken_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = plugin(tmp_path, f"printf '%s' '{answer(token='stolen')}'", command="plugin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:/usr/bin:/bin")
    with pytest.raises(CredentialsError, match="is not on the PATH"):
        await source.headers()


async def test_a_plugin_that_must_ask_needs_a_terminal(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="needs a terminal"):
        await plugin(tmp_path, "", interactive="Always").headers()


def test_a_plugin_with_a_path_is_beside_the_kubeconfig(tmp_path: Path) -> None:
    given = {"exec": {"apiVersion": V1, "command": "./bin/p", "interactiveMode": "Never"}}
    source = credentials(
        ConfigEntry("u", given, tmp_path / "config", "users[0].user"),
        ConfigEntry("c", {}, tmp_path / "config", ""),
    )
    assert isinstance(source, ExecPlugin)
    assert source._spec.command == f"{tmp_path}/bin/p"
