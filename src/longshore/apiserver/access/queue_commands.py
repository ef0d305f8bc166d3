"""Authorization of Commands to queues: the writer of a Command must be allowed to update its queue.

A Command is namespaced, and a queue is not. Without this check, a user with the role `edit` in one namespace,
which includes Commands, could close queues that other namespaces use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api.types import Obj
from longshore.apiserver.access.authz import Access
from longshore.apiserver.request.call import Call

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_COMMANDS: Final = "bus.volcano.sh/commands"
_QUEUES: Final = "scheduling.volcano.sh"


def check(api: Api, call: Call, command: Obj) -> None:
    """Raises a 403 for a valid Command to a queue that its writer may not update."""
    if call.resource.storage != _COMMANDS:
        return
    target = command.get("target") or {}
    if target.get("kind") == "Queue":
        api.authorizer.insist(call.user, Access("update", _QUEUES, "queues", target.get("name", "")))
