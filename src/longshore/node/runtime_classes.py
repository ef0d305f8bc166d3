"""The engine that each RuntimeClass means: the one its handler names."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.machinery.informers.informer import Handler


class RuntimeClasses(Handler):
    """Hears of all classes. One that was deleted keeps its meaning for the pods that still run."""

    def __init__(self) -> None:
        self._handlers: dict[str, str] = {}

    def engine(self, name: str) -> str:
        """The handler of a class. A class that nobody made means the engine of its name."""
        return self._handlers.get(name, name)

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._handlers[obj["metadata"]["name"]] = obj.get("handler") or ""
