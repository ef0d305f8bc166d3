"""Calls webhooks as Kubernetes' API server does: by their configurations, over HTTPS, patch by patch.

It trusts nothing but the `caBundle`, and wants the name of the Service in the certificate. Of
`matchConditions` it knows the one that longshore prints.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import uuid
from dataclasses import dataclass, field
from typing import Any

from longshore.api.patch import json_patch
from longshore.api.types import Obj
from longshore.client import Client
from longshore.client.http import http1
from longshore.client.http.asyncio_driver import Pool
from longshore.up.webhooks.certificate_keeper import CONFIGURATIONS

OF_VOLCANO = "object.spec.schedulerName == 'volcano'"
HTTP_SECONDS = 20.0


@dataclass(slots=True)
class Admitted:
    """The object as it goes to the store, or the refusal that a person sees."""

    obj: Obj
    code: int = 201
    message: str = ""
    warnings: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Operation:
    group: str
    version: str
    resource: str
    name: str
    kind: str = "CREATE"
    namespace: str = ""
    old: Obj | None = None
    dry_run: bool = False


class WebhookCaller:
    """`client` is where the configurations are; `port` is where the Service would lead to."""

    def __init__(self, client: Client, port: int) -> None:
        self._client, self._port = client, port

    async def admit(self, operation: Operation, obj: Obj | None) -> Admitted:
        admitted = Admitted(obj or {})
        for what in CONFIGURATIONS:
            for webhook in (await self._client.get(what, "longshore-webhooks"))["webhooks"]:
                if not _matches(webhook, operation, admitted.obj):
                    continue
                admitted.called.append(webhook["name"])
                response = await self._called(webhook, operation, admitted.obj if obj else None)
                admitted.warnings += response.get("warnings") or []
                if not response["allowed"]:
                    status = response["status"]
                    admitted.code = status.get("code") or 400
                    admitted.message = (
                        f'admission webhook "{webhook["name"]}" denied the request: {status["message"]}'
                    )
                    return admitted
                if response.get("patch"):
                    assert response["patchType"] == "JSONPatch"
                    patch = json.loads(base64.b64decode(response["patch"]))
                    admitted.obj = json_patch.patched(admitted.obj, patch)
        return admitted

    async def _called(self, webhook: Obj, operation: Operation, obj: Obj | None) -> Obj:
        assert "v1" in webhook["admissionReviewVersions"]
        uid = str(uuid.uuid4())
        request = {
            "uid": uid,
            "operation": operation.kind,
            "resource": {
                "group": operation.group, "version": operation.version, "resource": operation.resource
            },
            "name": operation.name,
            "namespace": operation.namespace,
            "object": obj,
            "oldObject": operation.old,
            "dryRun": operation.dry_run,
        }  # fmt: skip
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        service = webhook["clientConfig"]["service"]
        host = f"{service['name']}.{service['namespace']}.svc"
        trust = ssl.create_default_context(
            cadata=base64.b64decode(webhook["clientConfig"]["caBundle"]).decode()
        )
        code, body = await post(self._port, host, service["path"], review, trust)
        assert code == 200, body
        answer = json.loads(body)
        assert (answer["apiVersion"], answer["kind"]) == (review["apiVersion"], review["kind"])
        assert answer["response"]["uid"] == uid
        response: Obj = answer["response"]
        return response


async def post(
    port: int, host: str, path: str, body: Any, trust: ssl.SSLContext, media_type: str = "application/json"
) -> tuple[int, bytes]:
    """One request on a connection of its own: the code and the body of the answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    route = http1.route(f"https://127.0.0.1:{port}", name=host)
    pool = Pool(route, trust, limit=1, seconds=HTTP_SECONDS)
    async with asyncio.timeout(HTTP_SECONDS):
        headers = [("Content-Type", media_type)]
        answer = await pool.send(route.request("POST", f"{path}?timeout=10s", headers, raw))
    pool.close()
    return answer.code, answer.body


def _matches(webhook: Obj, operation: Operation, obj: Obj) -> bool:
    for condition in webhook.get("matchConditions") or ():
        assert condition["expression"] == OF_VOLCANO
        if obj.get("spec", {}).get("schedulerName") != "volcano":
            return False
    return any(
        operation.group in rule["apiGroups"]
        and operation.version in rule["apiVersions"]
        and operation.resource in rule["resources"]
        and operation.kind in rule["operations"]
        for rule in webhook["rules"]
    )
