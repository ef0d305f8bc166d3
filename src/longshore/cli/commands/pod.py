"""Shows the pods of Volcano Jobs and queues, as `vcctl pod` does. For all pods, use `longshore get pods`.

longshore pod list -j train
longshore pod list -q gpu --all-namespaces
"""

from __future__ import annotations

from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import Verb


def _verbs() -> dict[str, Verb]:
    from longshore.cli.volcano import pods

    return {"list": Verb("show the pods of jobs", pods.list_flags, pods.list_)}


add_arguments, run = vcctl.command("pod", _verbs)
