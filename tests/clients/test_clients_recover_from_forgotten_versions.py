"""What client libraries make of versions that longshore no longer remembers: each finds its way back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import kubernetes
import kubernetes_asyncio
import lightkube
import pytest
from kubernetes import informer
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import on_error_retry

from support.longshore_process import RunningLongshore

pytestmark = pytest.mark.xdist_group("clients: forgotten versions")

SPACE = "kube-public"
MAPS = f"/api/v1/namespaces/{SPACE}/configmaps"
GONE = 410


@dataclass
class Past:
    """Something a client remembers and the server does not."""

    version: str
    continue_token: str
    kubeconfig: str


@pytest.fixture(scope="module")
def past(longshore: RunningLongshore) -> Past:
    for name in ("a", "b", "c"):
        longshore.made("POST", MAPS, {"metadata": {"name": name}})
    page = longshore.made("GET", MAPS, query={"limit": "1"})["metadata"]
    longshore.forget()
    return Past(page["resourceVersion"], page["continue"], str(longshore.kubeconfig))


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_kubernetes_raises_gone_and_its_informer_lists_again(past: Past, longshore: RunningLongshore) -> None:
    with kubernetes.config.new_client_from_config(config_file=past.kubeconfig) as api:
        core: Any = kubernetes.client.CoreV1Api(api)
        watch: Any = kubernetes.watch.Watch()
        events = watch.stream(core.list_namespaced_config_map, SPACE, resource_version=past.version)
        with pytest.raises(kubernetes.client.ApiException) as gone:
            next(events)
        assert gone.value.status == GONE
        assert gone.value.reason.startswith("Expired: too old resource version")

        kept: Any = informer.SharedInformer(core.list_namespaced_config_map, SPACE)
        kept._resource_version = past.version
        kept.start()
        try:
            until(lambda: len(kept.cache.list_keys()) == 3)
        finally:
            # Its own stop() joins a thread that may sit in a read; an event ends the read.
            kept._stop_event.set()
            longshore.made("POST", MAPS, {"metadata": {"name": "wake"}})
            kept.stop()
            longshore.made("DELETE", MAPS + "/wake")


def test_kubernetes_goes_on_with_a_list_by_the_new_token(past: Past) -> None:
    with kubernetes.config.new_client_from_config(config_file=past.kubeconfig) as api:
        core: Any = kubernetes.client.CoreV1Api(api)
        with pytest.raises(kubernetes.client.ApiException) as gone:
            core.list_namespaced_config_map(SPACE, limit=1, _continue=past.continue_token)
        assert gone.value.status == GONE
        token = json.loads(gone.value.body)["metadata"]["continue"]
        rest = core.list_namespaced_config_map(SPACE, limit=5, _continue=token)
        assert [item.metadata.name for item in rest.items] == ["b", "c"]


@pytest.mark.anyio
async def test_kubernetes_asyncio_raises_gone(past: Past) -> None:
    async with await kubernetes_asyncio.config.new_client_from_config(config_file=past.kubeconfig) as api:
        core: Any = kubernetes_asyncio.client.CoreV1Api(api)
        watch: Any = kubernetes_asyncio.watch.Watch()
        async with (
            asyncio.timeout(10),
            watch.stream(core.list_namespaced_config_map, SPACE, resource_version=past.version) as events,
        ):
            with pytest.raises(kubernetes_asyncio.client.ApiException) as gone:
                await anext(events)
        assert gone.value.status == GONE


def test_lightkube_raises_gone_or_begins_anew_as_told(past: Past) -> None:
    config = lightkube.KubeConfig.from_file(past.kubeconfig)
    with lightkube.Client(config=config, namespace=SPACE) as client:
        with pytest.raises(lightkube.ApiError) as gone:
            next(client.watch(ConfigMap, resource_version=past.version))
        assert (gone.value.status.code, gone.value.status.reason) == (GONE, "Expired")
        events: Any = client.watch(ConfigMap, resource_version=past.version, on_error=on_error_retry)
        assert [next(events)[1].metadata.name for _ in range(3)] == ["a", "b", "c"]
        events.close()
