"""Prints a script that completes longshore's commands, flags and the names of objects in your shell.

  source <(longshore completion bash)
  source <(longshore completion zsh)
  longshore completion fish | source

The first lines of a script say where to keep it. `longshore completion words` is what the scripts ask.
"""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from typing import Final

_SECONDS = 3
"""The longest time to wait for an answer of the server."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "words"), help="the shell")
    parser.add_argument("--line", default="", metavar="LINE", help="for words: the line up to the cursor")


def run(arguments: Namespace) -> int:
    if arguments.shell != "words":
        sys.stdout.write(SCRIPTS[arguments.shell])
        return 0

    from longshore.cli import completing

    signal.alarm(_SECONDS)  # its default is to end the process, which is the answer: no candidates
    words, current = completing.split(arguments.line)
    for each in completing.complete(words, current, completing.ServerAsker(words)):
        print(f"{each.word}\t{each.meaning}" if each.meaning else each.word)
    return 0


# Each script hands the line up to the cursor to `longshore completion words`. An answer is one candidate per
# line, a tab, and its meaning. Without a candidate, shells complete file names.

_BASH: Final = r"""
# Completion of longshore for bash. Try it:  source <(longshore completion bash)
# Keep it:  longshore completion bash > ~/.local/share/bash-completion/completions/longshore
_longshore() {
    local line=${COMP_LINE:0:COMP_POINT} here=${COMP_WORDS[COMP_CWORD]} typed cut answer
    typed=${line##*[[:space:]]}
    # Bash cuts words at = and : too, and replaces the last part alone.
    case $here in '=' | ':') cut=$typed ;; *) cut=${typed%"$here"} ;; esac
    COMPREPLY=()
    while IFS=$'\t' read -r answer _; do
        COMPREPLY+=("${answer#"$cut"}")
    done < <(longshore completion words --line "$line" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then compopt -o nospace; fi
}
complete -o default -F _longshore longshore
"""
_ZSH: Final = r"""
#compdef longshore
# Completion of longshore for zsh. Try it:  source <(longshore completion zsh)
# Keep it:  longshore completion zsh > "${fpath[1]}/_longshore"
_longshore() {
    local -a answers plain open
    local answer
    answers=("${(@f)$(longshore completion words --line "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    for answer in $answers; do
        case ${answer%%$'\t'*} in
            '') ;;
            *[/=]) open+=("${${answer//:/\\:}/$'\t'/:}") ;;
            *) plain+=("${${answer//:/\\:}/$'\t'/:}") ;;
        esac
    done
    if (( ! $#plain && ! $#open )); then
        _files
        return
    fi
    (( $#plain )) && _describe -t words longshore plain
    (( $#open )) && _describe -t words longshore open -S ''
}
if [ "${funcstack[1]}" = "_longshore" ]; then _longshore "$@"; else compdef _longshore longshore; fi
"""
_FISH: Final = r"""
# Completion of longshore for fish. Try it:  longshore completion fish | source
# Keep it:  longshore completion fish > ~/.config/fish/completions/longshore.fish
function __longshore_words
    set -l line (commandline --cut-at-cursor --current-process)
    set -l answers (longshore completion words --line "$line" 2>/dev/null)
    if test (count $answers) -gt 0
        printf '%s\n' $answers
    else
        __fish_complete_path (commandline --current-token)
    end
end
complete --command longshore --no-files --arguments '(__longshore_words)'
"""
SCRIPTS: Final = {"bash": _BASH.lstrip(), "zsh": _ZSH.lstrip(), "fish": _FISH.lstrip()}
