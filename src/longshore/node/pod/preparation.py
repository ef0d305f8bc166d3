"""The contract of a preparer of pods; `preparing.Preparer` fulfils it."""

from __future__ import annotations

from typing import Any, Protocol

from longshore.api.types import Obj
from longshore.machinery.informers.shared import Informers
from longshore.node.runtime import Container


class Preparation(Protocol):
    """Raises `preparing.NotReady` and `preparing.CannotPrepare`."""

    async def run(self, informers: Informers) -> None:
        """Keeps what is shared current until cancelled."""

    def at_once(self, pod: Obj) -> Any:
        """The answer of `pod` if it is known without waiting for anything, else None."""

    async def pod(self, pod: Obj) -> Any:
        """Makes volumes, or finds them as they are; the result is handed to the other methods."""

    def container(self, prepared: Any, pod: Obj, spec: Obj, attempt: int, pod_ip: str) -> Container: ...

    async def refresh(self, prepared: Any, pod: Obj) -> None:
        """Files that come from other objects follow these."""

    async def remove(self, pod_uid: str) -> None: ...

    async def known(self) -> set[str]:
        """Uids of pods with something on disk. Asked once, when each pod of the node was found."""
