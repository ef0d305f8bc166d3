"""Prints a script that completes longshore's commands, flags and the names of objects in your shell.

  source <(longshore completion bash)
  source <(longshore completion zsh)
  longshore completion fish | source

The first lines of a script say where to keep it. `longshore completion words` is what the scripts ask.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

_SECONDS = 3
"""Time that a person waits for an answer of the server."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "words"), help="the shell")
    parser.add_argument("--line", default="", metavar="LINE", help="for words: the line up to the cursor")


def run(arguments: Namespace) -> int:
    from longshore.cli.completing import shell_scripts

    if arguments.shell != "words":
        sys.stdout.write(shell_scripts.SCRIPTS[arguments.shell])
        return 0
    import signal

    from longshore.cli.completing import candidates, server_asker

    signal.alarm(_SECONDS)  # its default is to end the process, which is the answer: no candidates
    words, current = candidates.split(arguments.line)
    for each in candidates.complete(words, current, server_asker.ServerAsker(words)):
        print(f"{each.word}\t{each.meaning}" if each.meaning else each.word)
    return 0
