"""Makes, shows and deletes Volcano's JobTemplates, as `vcctl jobtemplate` does.

longshore jobtemplate create -f jobtemplates.yaml
longshore jobtemplate list --all-namespaces
longshore jobtemplate describe -N build -o json
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import flows, vcctl

    vcctl.add_arguments(parser, flows.TEMPLATES.verbs())


def run(arguments: Namespace) -> int:
    from longshore.cli.volcano import flows, vcctl

    return vcctl.run(arguments, flows.TEMPLATES.word, flows.TEMPLATES.verbs())
