"""Shows the pods of Volcano Jobs and queues, as `vcctl pod` does. For all pods, use `longshore get pods`.

longshore pod list -j train
longshore pod list -q gpu --all-namespaces
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longshore.cli.volcano.vcctl import Verb


def _verbs() -> dict[str, Verb]:
    from longshore.cli.volcano import pods
    from longshore.cli.volcano.vcctl import Verb

    return {"list": Verb("show the pods of jobs", pods.list_flags, pods.list_)}


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import vcctl

    vcctl.add_arguments(parser, _verbs())


def run(arguments: Namespace) -> int:
    from longshore.cli.volcano import vcctl

    return vcctl.run(arguments, "pod", _verbs())
