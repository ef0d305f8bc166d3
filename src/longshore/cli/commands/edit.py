"""Opens objects in your editor and sends the changes, as kubectl edit does.

  longshore edit job/pi
  KUBE_EDITOR=nano longshore edit cronjob nightly -o json

The editor is $KUBE_EDITOR, else $EDITOR, else vi. Saved changes that the server refuses are opened again with
the reason at the top; an unchanged or empty file ends the command.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.cli.arguments.flags import switch

INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import targets
    from longshore.cli.server.apply_request import VALIDATION

    targets.add_arguments(parser, everywhere=False)
    add = parser.add_argument
    add("--output", "-o", default="yaml", choices=("yaml", "json"), help="the form to edit (default: yaml)")
    add("--subresource", default="", metavar="S", help="edit this subresource: status, scale")
    add("--field-manager", default="longshore-edit", metavar="M", help="who sets the fields")
    add(
        "--validate",
        default="strict",
        choices=tuple(VALIDATION),
        help="unknown fields: refuse, warn, ignore",
    )
    switch(parser, "--show-managed-fields", help="show managedFields: who set which field")


def run(arguments: Namespace) -> int:
    from longshore.cli.arguments import kinds, targets
    from longshore.cli.main import Said
    from longshore.cli.server import connecting, editing, refusals

    with refusals.told():
        server = connecting.server(arguments)
        chosen = targets.chosen(server, kinds.discover(server), arguments)
        found = [one for target in chosen for one in editing.each(server, target, arguments)]
        if not found:
            raise Said("error: there is nothing to edit", 1)
        return editing.edit(server, found, arguments)
