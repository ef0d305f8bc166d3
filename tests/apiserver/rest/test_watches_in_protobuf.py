"""A watch tells the same changes in protobuf as in JSON, whoever else watches."""

from __future__ import annotations

import json

import pytest

from longshore.api import codec
from longshore.apiserver.http import watch_lines
from longshore.apiserver.request.negotiate import JSON, PROTOBUF, Output

pytestmark = pytest.mark.anyio


async def _told(server, since, form, **query):
    """The type and the object of each change since a revision."""
    call = server.call("configmaps", "watch", resourceVersion=str(since), **query)
    render = watch_lines.renderer(server.api, call, Output(form))
    data = b"".join(render(change) for change in await anext(await server.api.watch(call)))
    if form == JSON:
        lines = map(json.loads, data.splitlines())
        return [(line["type"], {**line["object"], "kind": "", "apiVersion": ""}) for line in lines]
    message = "core/v1.ConfigMap"
    return [
        (kind, {**codec.read_protobuf(raw).decode(message).obj, "kind": "", "apiVersion": ""})
        for kind, raw in codec.read_watch_frames(data)
    ]


async def test_changes_are_the_same_in_both_forms_also_for_those_who_see_an_object_go(make_server):
    server = await make_server()
    since = server.store.revision
    await server.create("configmaps", {"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "v"}})
    await server.patch("configmaps", "a", {"data": {"k": "w"}})
    await server.patch("configmaps", "a", {"metadata": {"labels": {"x": "2"}}})
    await server.patch("configmaps", "a", {"data": {"k": "x"}})
    for query in ({}, {"labelSelector": "x=1"}, {"labelSelector": "x=2"}, {}):
        told = await _told(server, since, PROTOBUF, **query)
        assert told == await _told(server, since, JSON, **query)
    assert [kind for kind, _ in await _told(server, since, PROTOBUF, labelSelector="x=1")] == [
        "ADDED",
        "MODIFIED",
        "DELETED",
    ]
