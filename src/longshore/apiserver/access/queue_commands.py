"""Who may command a queue: whoever may change it.

A Command is in a namespace, and a queue is everybody's. Without this check, whoever may write Commands in one
namespace, as all who have the role `edit` there may, could close the queues of all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api.types import Obj
from longshore.apiserver.access.authz import Wish
from longshore.apiserver.request.call import Call

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_COMMANDS: Final = "bus.volcano.sh/commands"
_QUEUES: Final = "scheduling.volcano.sh"


def check(api: Api, call: Call, command: Obj) -> None:
    """Raises the 403 of a valid Command for a queue that its writer may not update."""
    if call.resource.storage != _COMMANDS:
        return
    target = command.get("target") or {}
    if target.get("kind") == "Queue":
        api.authorizer.insist(call.user, Wish("update", _QUEUES, "queues", target.get("name", "")))
