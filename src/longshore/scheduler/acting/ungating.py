"""Removes the scheduling gates of pods whose queue has room for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.background import Background
from longshore.scheduler.fitting.pod_shape import Pod

_FINAL_CODES: Final = (404, 409)
"""Status codes of a final refusal: the pod is gone, or another pod has its name."""

log = logging.getLogger(__name__)


class Ungater:
    """Removes gates, each pod's once at a time. Calls `failed` if a gate could not be removed."""

    def __init__(self, client: Client, failed: Callable[[], None]) -> None:
        self._client, self._failed = client, failed
        self._under_way: set[str] = set()
        self._background = Background()

    def start(self, pod: Pod) -> None:
        """Removes the gate of a pod in the background. Returns at once."""
        if pod.uid not in self._under_way:
            self._under_way.add(pod.uid)
            self._background.spawn(self._open(pod))

    async def _open(self, pod: Pod) -> None:
        namespace, name = pod.key
        # No gate can be added to a pod that exists, so this one is still the only one.
        patch: Obj = {"metadata": {"uid": pod.uid}, "spec": {"schedulingGates": None}}
        try:
            await self._client.patch(kinds.PODS, name, patch, namespace)
        except (StatusError, Unreachable) as err:
            if not isinstance(err, StatusError) or err.code not in _FINAL_CODES:
                log.warning("the gate of pod %s/%s could not be opened: %s", namespace, name, err)
                self._failed()
        finally:
            self._under_way.discard(pod.uid)

    def cancel(self) -> None:
        self._background.cancel()
