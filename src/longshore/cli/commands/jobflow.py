"""Makes, shows and deletes Volcano's JobFlows, as `vcctl jobflow` does.

longshore jobflow create -f jobflows.yaml
longshore jobflow list --all-namespaces
longshore jobflow describe -N build -o json
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import flows, vcctl

    vcctl.add_arguments(parser, flows.FLOWS.verbs())


def run(arguments: Namespace) -> int:
    from longshore.cli.volcano import flows, vcctl

    return vcctl.run(arguments, flows.FLOWS.word, flows.FLOWS.verbs())
