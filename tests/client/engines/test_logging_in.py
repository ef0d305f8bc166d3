"""Every way to log in at a real longshore, and what those who cannot are told."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.api.errors import StatusError
from longshore.client import Unreachable
from longshore.client.http import HttpClient
from longshore.up.running import Longshore

pytestmark = pytest.mark.anyio

REVIEW = ("authentication.k8s.io/v1", "SelfSubjectReview")


def as_user(longshore: Longshore, into: Path, **user: Any) -> Path:
    """The kubeconfig of this longshore with another user entry."""
    config = yaml.safe_load(longshore.kubeconfig.read_text())
    config["users"][0]["user"] = user
    into.write_text(yaml.safe_dump(config))
    return into


async def who(kubeconfig: Path) -> str:
    async with HttpClient.from_kubeconfig(kubeconfig) as client:
        answer = await client.create(REVIEW, {})
    name: str = answer["status"]["userInfo"]["username"]
    return name


def token(longshore: Longshore) -> str:
    return (longshore.kubeconfig.parent / "token").read_text().strip()


async def test_with_the_kubeconfig_as_it_is(longshore: Longshore) -> None:
    assert await who(longshore.kubeconfig) == "longshore-admin"


async def test_with_a_client_certificate(longshore: Longshore, tmp_path: Path) -> None:
    pair = str(longshore.kubeconfig.parent / "pki" / "admin.pem")
    config = as_user(longshore, tmp_path / "c", **{"client-certificate": pair, "client-key": pair})
    assert await who(config) == "longshore-admin"


async def test_with_a_token_file(longshore: Longshore, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(token(longshore))
    assert await who(as_user(longshore, tmp_path / "c", tokenFile="t")) == "longshore-admin"


async def test_with_an_exec_plugin(longshore: Longshore, tmp_path: Path) -> None:
    version = "client.authentication.k8s.io/v1"
    answer = {"kind": "ExecCredential", "apiVersion": version, "status": {"token": token(longshore)}}
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    plugin.chmod(stat.S_IRWXU)
    spec = {"apiVersion": version, "command": "./plugin", "interactiveMode": "Never"}
    assert await who(as_user(longshore, tmp_path / "c", exec=spec)) == "longshore-admin"


async def test_with_the_token_of_a_service_account(longshore: Longshore, tmp_path: Path) -> None:
    account = ("v1", "ServiceAccount")
    await longshore.client.create(account, {"metadata": {"name": "robot"}}, "default")
    made = await longshore.client.create(account, {"spec": {}}, "default", name="robot", subresource="token")
    config = as_user(longshore, tmp_path / "c", token=made["status"]["token"])
    assert await who(config) == "system:serviceaccount:default:robot"
    async with HttpClient.from_kubeconfig(config) as client:
        with pytest.raises(StatusError) as caught:
            await client.list(("v1", "secrets"), "default")
    assert caught.value.code == 403
    assert caught.value.message == (
        'secrets is forbidden: User "system:serviceaccount:default:robot" cannot list resource "secrets" '
        'in API group "" in the namespace "default"'
    )


async def test_with_a_wrong_token(longshore: Longshore, tmp_path: Path) -> None:
    with pytest.raises(StatusError) as caught:
        await who(as_user(longshore, tmp_path / "c", token="wrong"))
    assert (caught.value.code, caught.value.reason) == (401, "Unauthorized")


async def test_without_credentials(longshore: Longshore, tmp_path: Path) -> None:
    async with HttpClient.from_kubeconfig(as_user(longshore, tmp_path / "c")) as client:
        with pytest.raises(StatusError) as caught:
            await client.list(("v1", "pods"), "default")
        assert caught.value.code in (401, 403)
        assert (await client.request("GET", "/healthz")).body == b"ok"


async def test_with_a_certificate_of_another_authority(longshore: Longshore, tmp_path: Path) -> None:
    from datetime import UTC, datetime

    from longshore.up import own_certificates

    pair = str(own_certificates.ensure(tmp_path / "other", datetime.now(UTC)).admin)
    config = as_user(longshore, tmp_path / "c", **{"client-certificate": pair, "client-key": pair})
    with pytest.raises((Unreachable, StatusError)):
        await who(config)
