"""Makes, shows, opens and closes Volcano's queues, as `vcctl queue` does.

longshore queue create -n gpu -w 2
longshore queue list
longshore queue operate -n gpu -a close
"""

from __future__ import annotations

from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import Verb


def verbs() -> dict[str, Verb]:
    """The verbs of `longshore queue`, by name."""
    from longshore.cli.volcano import queues

    return {
        "create": Verb("make a queue", queues.create_flags, queues.create),
        "list": Verb("show all queues", queues.no_flags, queues.list_),
        "get": Verb("show one queue", queues.one_flags, queues.get),
        "operate": Verb("open, close or weigh a queue", queues.operate_flags, queues.operate),
        "delete": Verb("delete a queue", queues.one_flags, queues.delete),
    }


add_arguments, run = vcctl.command("queue", verbs)
