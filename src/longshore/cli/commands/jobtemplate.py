"""Makes, shows and deletes Volcano's JobTemplates, as `vcctl jobtemplate` does.

longshore jobtemplate create -f jobtemplates.yaml
longshore jobtemplate list --all-namespaces
longshore jobtemplate describe -N build -o json
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import flows, verbs

    verbs.add_arguments(parser, flows.TEMPLATES.verbs())


def run(arguments: Namespace) -> int:
    from longshore.cli.volcano import flows, verbs

    return verbs.run(arguments, flows.TEMPLATES.word, flows.TEMPLATES.verbs())
