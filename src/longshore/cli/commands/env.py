"""Prints the line that points kubectl and other clients at this longshore.

eval "$(longshore env)"
longshore env --shell fish | source
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace

from longshore.cli.server import data_dir

_LINES = {
    "sh": ("export KUBECONFIG={}", "unset KUBECONFIG"),
    "fish": ("set -gx KUBECONFIG {}", "set -e KUBECONFIG"),
}


def add_arguments(parser: ArgumentParser) -> None:
    data_dir.add_arguments(parser)
    parser.add_argument("--shell", default="sh", choices=tuple(_LINES), help="the shell (default: sh)")
    parser.add_argument("--unset", action="store_true", help="print the line that takes it back")


def run(arguments: Namespace) -> int:
    setting, unsetting = _LINES[arguments.shell]
    if arguments.unset:
        print(unsetting)
        return 0
    print(setting.format(shlex.quote(str(data_dir.kubeconfig(arguments)))))
    return 0
