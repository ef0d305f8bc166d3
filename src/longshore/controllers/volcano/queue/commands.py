"""Commands for queues. Each is deleted before it is carried out, so that it is executed at most once."""

from __future__ import annotations

from collections.abc import Callable

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.queues.workqueue import WorkQueue


class Commands(Handler):
    """Adds Commands for queues to their own work queue."""

    def __init__(
        self, client: Client, commands: Informer, queue: WorkQueue[Key], issued: Callable[[str, str], None]
    ) -> None:
        """`issued` is called with the name of a queue and the action."""
        self._client, self._commands, self._queue, self._issued = client, commands, queue, issued
        commands.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        target = obj.get("target") or {}
        group = (target.get("apiVersion") or "").partition("/")[0]
        if target.get("kind") == "Queue" and group == "scheduling.volcano.sh":
            self._queue.add(key_of(obj))

    async def sync(self, key: Key) -> float | None:
        """Takes one Command. If it no longer exists, another controller took it, or it was withdrawn."""
        command = self._commands.cache.get(*key)
        if command is None:
            return None
        try:
            await self._client.delete(kinds.COMMANDS, key[1], key[0])
        except StatusError as err:
            if err.code == 404:
                return None
            raise
        self._issued(command["target"].get("name") or "", command.get("action") or "")
        return None
