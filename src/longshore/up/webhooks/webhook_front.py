"""`/mutate` and `/validate` over HTTPS, as the front of a `Listener`.

A refusal may be due to a queue that was created a moment ago and is not in the cache yet. So before an object
is refused, the queues are read once more, and the rules are applied again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from longshore.api import types
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.metrics import Registry, exponential_buckets
from longshore.api.types import Obj
from longshore.apiserver.http.begun import Begun, Ready, Waits
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import Reply
from longshore.client import Client, Unreachable, What
from longshore.client.projection import Projection
from longshore.machinery.informers.cache import Cache
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time.clock import Clock
from longshore.up.outside.health import TEXT, OpenFront
from longshore.up.webhooks import reviewing

QUEUES: Final[What] = ("scheduling.volcano.sh/v1beta1", "Queue")
_QUEUES: Final = "scheduling.volcano.sh/queues"
_NAMESPACE: Final = Projection("metadata.annotations")
"""Annotations of namespaces, of which one names a queue."""
_JSON: Final = "application/json"
_READ_SECONDS: Final = 3.0
"""Time for reading the queues before a refusal; API servers wait ten seconds for the whole answer."""

log = logging.getLogger(__name__)


class Known:
    """The queues and namespaces that the rules need: fresh or cached queues, and cached namespaces."""

    def __init__(self, queues: Iterable[Obj], namespaces: Cache) -> None:
        self._queues = {str(queue["metadata"]["name"]): queue for queue in queues}
        self._namespaces = namespaces

    def get(self, storage: str, namespace: str, name: str) -> Obj | None:
        return self._queues.get(name) if storage == _QUEUES else self._namespaces.get("", name)

    def list(self, storage: str, namespace: str) -> list[Obj]:
        """All queues: rules list no other kind."""
        return [self._queues[name] for name in sorted(self._queues)]


class Following:
    """Follows queues and namespaces."""

    def __init__(self, client: Client, informers: Informers) -> None:
        self._client = client
        self._queues = informers.get(QUEUES).cache
        self._namespaces = informers.get(kinds.NAMESPACES, reads=_NAMESPACE).cache

    def cached(self) -> Known:
        return Known(self._queues, self._namespaces)

    async def read(self) -> Known:
        """Reads the queues as they are now. Raises `StatusError` and `Unreachable`."""
        return Known((await self._client.list(QUEUES)).items, self._namespaces)


class WebhookFront(OpenFront):
    """Answers reviews without credentials: an answer holds only the verdict of the rules."""

    def __init__(self, following: Following, clock: Clock, registry: Registry) -> None:
        self._following, self._clock = following, clock
        self._requests = registry.counter(
            "longshore_webhook_requests_total",
            "Admission reviews answered, by operation and resource; allowed is true, false or error.",
            ("webhook", "operation", "resource", "allowed"),
        )
        self._seconds = registry.histogram(
            "longshore_webhook_duration_seconds",
            "Time from the whole request to its answer.",
            ("webhook",),
            exponential_buckets(0.0005, 2, 15),
        )

    def begin(self, request: Request) -> Begun:
        path = request.target.partition("?")[0]
        if path not in _WEBHOOKS:
            return Ready(Reply(404, TEXT, b"404 page not found\n"))
        if request.method != "POST":
            return Ready(Reply(405, TEXT, b"405 a review is sent by POST\n"))
        if request.headers.get("content-type", "").partition(";")[0].strip() != _JSON:
            return Ready(Reply(415, TEXT, b"415 a review is application/json\n"))
        try:
            review = reviewing.ReviewRequest.of(types.decode(request.body))
        except (msgspec.DecodeError, reviewing.NoReview) as problem:
            return Ready(Reply(400, TEXT, f"400 {problem}\n".encode()))
        return self._begun(path.removeprefix("/"), review, _WEBHOOKS[path])

    def _begun(self, webhook: str, review: reviewing.ReviewRequest, rules: _Rules) -> Begun:
        began = self._clock.monotonic()
        try:
            response = rules(review, self._following.cached())
        except Exception:  # a fault of ours: the API server goes by failurePolicy
            log.exception("webhooks: no answer to %s of %s", review.operation, review.storage)
            self._requests.inc(webhook, review.operation, review.storage, "error")
            return Ready(Reply(500, TEXT, b"500 the rules failed; see the log\n"))
        if response["allowed"]:
            return Ready(self._reply(webhook, review, response, began))
        return Waits(partial(self._once_more, webhook, review, rules, began))

    async def _once_more(
        self, webhook: str, review: reviewing.ReviewRequest, rules: _Rules, began: float
    ) -> Ready:
        try:
            async with self._clock.timeout(_READ_SECONDS):
                known = await self._following.read()
        except (TimeoutError, StatusError, Unreachable) as err:
            log.info(
                "webhooks: cannot read the queues, so an answer rests on cached ones: %s", err or "no answer"
            )
            known = self._following.cached()
        return Ready(self._reply(webhook, review, rules(review, known), began))

    def _reply(self, webhook: str, review: reviewing.ReviewRequest, response: Obj, began: float) -> Reply:
        allowed = "true" if response["allowed"] else "false"
        self._requests.inc(webhook, review.operation, review.storage, allowed)
        self._seconds.observe(self._clock.monotonic() - began, webhook)
        return Reply(200, _JSON, types.encode(reviewing.answer(response)))


_Rules = Callable[[reviewing.ReviewRequest, Known], Obj]
_WEBHOOKS: Final[dict[str, _Rules]] = {
    "/mutate": lambda review, known: reviewing.mutated(review, known.get),
    "/validate": lambda review, known: reviewing.validated(review, known.get, known.list),
}
