"""The shortcuts that verbs ask, each verb in one place, before it goes the long way."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from longshore.api.types import Obj
from longshore.apiserver.answer import Answer
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.options import WriteOptions
from longshore.apiserver.shortcuts.one_part import OnePart
from longshore.apiserver.shortcuts.same_spec import SameSpec

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Entry


class Shortcut(Protocol):
    """The declaration of a shortcut. See the package for its contract."""

    relies_on: ClassVar[tuple[str, ...]]
    """The facts that make the answers of the shortcut equal to those of the long way."""
    earns: ClassVar[str]
    """The figure it improves, by how much, and the benchmark that shows it."""


class OfCreates(Shortcut, Protocol):
    def create(self, api: Api, call: Call, wanted: WriteOptions) -> Answer | None:
        """Creates the object of the call; None leaves it to the long way."""


class OfUpdates(Shortcut, Protocol):
    def update(self, api: Api, call: Call, old: Entry, wanted: WriteOptions) -> Answer | None:
        """Replaces `old` by the object of the call; None leaves it to the long way."""


class OfPatches(Shortcut, Protocol):
    def patch(self, api: Api, call: Call, old: Entry, media_type: str, wanted: WriteOptions) -> Answer | None:
        """Patches `old`; None leaves it to the long way."""


class Shortcuts:
    """The shortcuts that the verbs of one API ask; none if they are off."""

    def __init__(self, *, on: bool) -> None:
        self.on = on
        self.same_spec = SameSpec()
        one_part = OnePart()
        self._creates: tuple[OfCreates, ...] = (self.same_spec,) if on else ()
        self._updates: tuple[OfUpdates, ...] = (one_part,) if on else ()
        self._patches: tuple[OfPatches, ...] = (one_part,) if on else ()

    def create(self, api: Api, call: Call, wanted: WriteOptions) -> Answer | None:
        """The first answer that a shortcut has; None if the call has to go the long way."""
        for shortcut in self._creates:
            answer = shortcut.create(api, call, wanted)
            if answer is not None:
                return answer
        return None

    def created(self, api: Api, call: Call, obj: Obj) -> None:
        """Lets shortcuts learn from `obj`, which the long way has made of this call."""
        if self.on:
            self.same_spec.learn(api, call, obj)

    def update(self, api: Api, call: Call, old: Entry | None, wanted: WriteOptions) -> Answer | None:
        """The first answer that a shortcut has to a PUT; None if the call has to go the long way."""
        if old is not None:
            for shortcut in self._updates:
                answer = shortcut.update(api, call, old, wanted)
                if answer is not None:
                    return answer
        return None

    def patch(self, api: Api, call: Call, old: Entry, media_type: str, wanted: WriteOptions) -> Answer | None:
        """The first answer that a shortcut has to a PATCH; None if the call has to go the long way."""
        for shortcut in self._patches:
            answer = shortcut.patch(api, call, old, media_type, wanted)
            if answer is not None:
                return answer
        return None
