"""What the server says of itself in OpenAPI, turned into requests by schemathesis and sent over TLS.

LONGSHORE_FUZZ_EXAMPLES sets how many requests each operation gets (2 unless told, and as many that
break the schema on purpose). Bodies take nearly all of the time, so a PUT sends those of its kind's POST.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.core import NotSet
from schemathesis.generation import GenerationMode

from apiserver.fuzz.promises import check_answer, check_unchanged, stored
from apiserver.fuzz.seeds import NAMESPACE, own_seeds, path_of
from apiserver.fuzz.target import Target
from apiserver.fuzz.wishes import Wish
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.apiserver.rest import versions
from longshore.client.local import LocalClient
from longshore.up.options import Options
from longshore.up.running import running

pytestmark = pytest.mark.anyio
EXAMPLES = int(os.environ.get("LONGSHORE_FUZZ_EXAMPLES", "2"))
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


def cases(operation: Any, mode: GenerationMode) -> list[Any]:
    """Requests for one operation, the same ones in every run."""
    found: list[Any] = []

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(operation.as_strategy(generation_mode=mode))
    def collect(case: Any) -> None:
        found.append(case)

    collect()
    return found


def wishes(documents: list[Any], dice: random.Random) -> Iterator[Wish]:
    """All requests, in an order that mixes kinds."""
    operations = [
        result.ok()  # type: ignore[union-attr]  # our own document is valid
        for document in documents
        for result in schemathesis.openapi.from_dict(document).get_all_operations()
    ]
    posted = {
        operation.path: [case for mode in MODES for case in cases(operation, mode)]
        for operation in operations
        if operation.method == "post"
    }
    dice.shuffle(operations)
    for operation in operations:
        if operation.method == "post":
            found = posted[operation.path]
        elif operation.method == "put" and (path := operation.path.partition("/{name}")[0]) in posted:
            found = [_replacing(operation, case) for case in posted[path]]
        else:
            found = [case for mode in MODES for case in cases(operation, mode)]
        for case in found:
            yield wish_of(case, dice)


def _replacing(operation: Any, posted: Any) -> Any:
    """The request that puts, by this operation, what another one posts."""
    parameters = {"name": "other", **(posted.path_parameters or {})}
    return operation.Case(
        path_parameters=parameters, query=posted.query, body=posted.body, media_type=posted.media_type
    )


def wish_of(case: Any, dice: random.Random) -> Wish:
    """The request of a case, mostly about something that exists."""
    parameters = dict(case.path_parameters or {})
    if "namespace" in parameters and dice.random() < 0.9:
        parameters["namespace"] = NAMESPACE
    if "name" in parameters and dice.random() < 0.8:
        parameters["name"] = "seed"
    case.path_parameters = parameters
    sent = case.as_transport_kwargs(base_url="https://localhost")
    target = sent["url"].removeprefix("https://localhost")
    query = [(str(k), str(v)) for k, v in (sent.get("params") or {}).items() if k != "watch"]
    if query:
        target += "?" + urlencode(query, errors="replace")
    headers = {"Accept": "application/json"}
    body = b""
    if not isinstance(case.body, NotSet):
        headers["Content-Type"] = case.media_type or "application/json"
        body = case.body if isinstance(case.body, bytes) else json.dumps(case.body).encode()
    row, name = _row_of(target)
    return Wish(case.method.upper(), target, body, headers, row, name)


def _row_of(target: str) -> tuple[Resource | None, str]:
    for row in table.RESOURCES:
        if target.partition("?")[0].startswith(path_of(row, "seed")):
            return row, "seed"
    return None, ""


async def test_requests_from_our_own_schema_break_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_WAIT_SECONDS", 0.01)
    dice = random.Random(1)
    async with running(
        Options(in_memory=True, port=0, controllers=(), scheduler=False, node=False)
    ) as longshore:
        target = Target(longshore)
        client = LocalClient(longshore.api)
        listed = json.loads((await client.request("GET", "/openapi/v3")).body)["paths"]
        documents = [
            json.loads((await client.request("GET", entry["serverRelativeURL"].partition("?")[0])).body)
            for entry in listed.values()
        ]
        sent = 0
        for wish in wishes(documents, dice):
            if sent % 200 == 0:
                await plant(target)
            sent += 1
            before, revision = stored(target.api, wish), target.api.store.revision
            try:
                answer = await target.ask(wish, over_tls=True)
                check_answer(wish, answer.code, answer.headers, answer.body)
                if answer.code >= 400:
                    check_unchanged(target.api, revision, wish, before)
            except Exception as error:
                raise AssertionError(f"request {sent}: {wish}") from error
            assert not [record for record in caplog.records if record.levelno >= logging.ERROR], wish
        await target.close()
    assert sent > 1000


async def plant(target: Target) -> None:
    """Puts the seeds there, where an earlier request took them away."""
    for seed_ in own_seeds():
        body = json.dumps(seed_.obj).encode()
        await target.ask(
            Wish("POST", path_of(seed_.resource), body, {"Content-Type": "application/json"}), over_tls=False
        )
