"""The text of a shell's `-c`, read as far as needed to put items into it as data.

An item never becomes a part of the text: the shell reads it from a variable of the pod, and does not execute
the value of a variable. The quotes around a placeholder decide how the variable is written (`Context`). If a
shell does evaluate its data, or this reader is not sure, the context is CODE, and only an item without
special characters may stand there. Programs in other languages (for awk or python3) are not read.
"""

from __future__ import annotations

import enum
import os.path
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

PLAIN: Final = re.compile(r"[\w./:,@%+-]*")
"""An item that every shell reads as a plain word."""


class Context(enum.Enum):
    """The surroundings of a placeholder."""

    WORD = "an argument, or a part of one, that no shell reads"
    BARE = "a word of a shell's text"
    DOUBLE = "between double quotes"
    SINGLE = "between single quotes"
    CODE = "text that a shell evaluates, where only items of PLAIN may stand"

    def variable(self, name: str) -> str:
        """The variable of this name, escaped for Kubernetes. The shell fails if it is not set."""
        own = f"$${{{name}?}}"
        return {
            Context.BARE: f'"{own}"',
            Context.DOUBLE: own,
            Context.SINGLE: f"'\"{own}\"'",
        }.get(self, f"$({name})")

    def quoted(self, value: str) -> str:
        """The value as a person would type it here."""
        if self in (Context.WORD, Context.CODE) or PLAIN.fullmatch(value):
            return value
        inner = value.replace("'", "'\\''")
        return {Context.BARE: f"'{inner}'", Context.DOUBLE: f"\"'{inner}'\""}.get(self, inner)


class ShellText(NamedTuple):
    """The word of a command that a shell executes."""

    place: int
    """Index of the text among the words."""
    is_readable: bool
    """Whether this module can read the shell's language, and the pod's variables reach the shell."""
    computes: bool
    """Whether the shell's `printf %d` evaluates its argument, as those of ksh and zsh do."""


_SHELLS: Final = re.compile(r"-?(sh|r?bash|d?ash|zsh|[lmr]?ksh(93)?|posh|yash)([-.\d]+)?")
_OTHER_SHELLS: Final = frozenset({"csh", "fish", "tcsh"})
_TEXT_RUNNERS: Final = frozenset({"rsh", "runuser", "script", "sg", "ssh", "su"})
"""Programs that pass their arguments to a shell."""
_TRANSPARENT: Final = frozenset(
    {"busybox", "chrt", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "taskset", "time"}
    | {"timeout"}
)
"""Programs that run another program and pass on its variables."""
_EVALUATING: Final = frozenset(
    {".", "alias", "break", "continue", "declare", "eval", "exit", "export", "float", "integer", "let"}
    | {"local", "nameref", "read", "readonly", "return", "shift", "source", "trap", "typeset", "unset"}
)
"""Builtins that evaluate an argument: as code, as arithmetic, or as a subscript."""
_COMPARISON: Final = re.compile(r"\s-(eq|ne|lt|le|gt|ge|v)\s")
"""Operators of `[` and `test`, and one of `printf`, that evaluate their operand in some shell."""
_NUMBER_FORMAT: Final = re.compile(r"%[-+ #0-9.*]*[diouxXeEfFgGaA]")
_LEADING: Final = re.compile(
    r"if|then|elif|else|while|until|do|!|\{|command|builtin|time|\w+\+?=.*", re.DOTALL
)
_MAX_DEPTH: Final = 50


def shell_text(words: Sequence[str]) -> ShellText | None:
    """The text that a shell in this command executes, as in `env A=1 bash -ec TEXT`; None without one."""
    for at, word in enumerate(words):
        name = os.path.basename(word)
        known = _SHELLS.fullmatch(name) is not None
        if (known or name in _OTHER_SHELLS) and (index := _operand(words, at + 1)) is not None:
            readable = known and all(map(_leaves_variables, words[:at]))
            return ShellText(index, readable, computes="ksh" in name or "zsh" in name)
    return None


def hands_on(words: Sequence[str]) -> bool:
    """Whether the program passes its arguments to a shell, perhaps on another machine."""
    return bool(words) and os.path.basename(words[0]) in _TEXT_RUNNERS


def contexts(text: str, spans: Mapping[int, int], *, computes: bool = False) -> dict[int, Context]:
    """The context of each span (its begin and end) of a shell's text. Spans in comments, and spans of the
    shell's own, as `{1}` in `${1}`, are left out."""
    return _Reader(text, spans, computes=computes).found


def _operand(words: Sequence[str], at: int) -> int | None:
    """The index of the first word that is no option of a shell, if one of the options is `-c`."""
    has_text = False
    while at < len(words):
        word = words[at]
        if word in ("-", "--") or word[:1] not in ("-", "+"):
            at += word in ("-", "--")
            break
        at += 1
        if word.startswith("--"):
            at += word in ("--rcfile", "--init-file")
            continue
        has_text = has_text or (word[0] == "-" and "c" in word)
        if "o" in word.lower() and at < len(words) and re.fullmatch(r"[a-z_]+", words[at]):
            at += 1  # -o pipefail
    return at if has_text and at < len(words) else None


def _leaves_variables(word: str) -> bool:
    """Whether this word before a shell is a transparent program, or an ordinary option or number of one."""
    if word in ("-", "-i", "--ignore-environment", "-S") or word.startswith(("-u", "--unset", "--split")):
        return False
    return os.path.basename(word) in _TRANSPARENT or bool(re.match(r"-|\d|\w+=", word))


class _Commands:
    """The commands that are being read, of the whole text or between parentheses."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        """Where the current command begins."""
        self.command: list[str] = []
        """Words of the command so far."""
        self.word = ""

    def end_word(self) -> None:
        if self.word and (self.command or not _LEADING.fullmatch(self.word)):
            self.command.append(self.word)
        self.word = ""

    def end_command(self, at: int) -> None:
        self.begin, self.command, self.word = at, [], ""


class _Reader:
    """One pass over a text. `_open` holds the commands and quotes that are open, the innermost last."""

    def __init__(self, text: str, spans: Mapping[int, int], *, computes: bool) -> None:
        self._text, self._spans, self._computes, self._at = text, spans, computes, 0
        self.found: dict[int, Context] = {}
        self._open: list[_Commands | str] = [_Commands(0)]
        while self._at < len(text):
            innermost = self._open[-1]
            if len(self._open) > _MAX_DEPTH:
                self._evaluated(len(text))
            elif self._at in spans:
                self._placeholder()
            elif isinstance(innermost, _Commands):
                self._in_commands(innermost)
            elif innermost == "'":
                self._in_single_quotes()
            else:
                self._in_double_quotes()
        if len(self._open) > 1:  # never closed: this reader was wrong about some quote, or the text is
            self.found = dict.fromkeys(self.found, Context.CODE)

    def _placeholder(self) -> None:
        commands, innermost = self._commands(), self._open[-1]
        context = {"'": Context.SINGLE, '"': Context.DOUBLE}.get(str(innermost), Context.BARE)
        self.found[self._at] = Context.CODE if self._is_evaluated(commands) else context
        commands.word += "{}"
        self._at = self._spans[self._at]

    def _in_single_quotes(self) -> None:
        if self._text[self._at] == "'":
            self._open.pop()
            self._at += 1
        else:
            self._take(1)

    def _in_double_quotes(self) -> None:
        if self._text[self._at] == '"':
            self._open.pop()
            self._at += 1
        elif not self._begins_expansion():
            self._take(1)

    def _in_commands(self, commands: _Commands) -> None:
        text, at = self._text, self._at
        char, pair = text[at], text[at : at + 2]
        if char in "'\"":
            self._open.append(char)
            self._at += 1
        elif pair == "((":
            self._evaluated(_closing(text, at, "(", ")"))
        elif pair == "[[" and not commands.word:
            self._evaluated(_after(text, at + 2, "]]"))
        elif char == "[" and commands.word.isidentifier():
            self._evaluated(_after(text, at, "]"))
        elif pair == "<<" and text[at : at + 3] != "<<<":  # a here-document may be anywhere after it
            self._evaluated(len(text))
        elif char == "#" and not commands.word:
            self._at = _after(text, at, "\n") - 1 if "\n" in text[at:] else len(text)
        elif char == "(":
            commands.end_command(at)
            self._open.append(_Commands(at + 1))
            self._at += 1
        elif char == ")":
            if len(self._open) > 1:
                self._open.pop()
            commands = self._commands()
            commands.end_command(at)
            self._at += 1
        elif char in ";|\n" or (char == "&" and ">" not in text[max(0, at - 1) : at + 2]):
            commands.end_command(at + 1)
            self._at += 1
        elif char.isspace():
            if commands.word == "case" and len(self._open) > 1:  # its patterns have parentheses without pair
                self._evaluated(len(text))
            commands.end_word()
            self._at += 1
        elif not self._begins_expansion():
            self._take(1)

    def _begins_expansion(self) -> bool:
        """Reads a `$(…)`, `${…}`, `$((…))` or one in backquotes; returns whether there is one."""
        text, at = self._text, self._at
        if text.startswith("`", at):
            self._evaluated(_after(text, at + 1, "`"))
        elif text.startswith("$((", at):
            self._evaluated(_closing(text, at + 1, "(", ")"))
        elif text.startswith("${", at):
            end = _closing(text, at + 1, "{", "}")
            self._evaluated(len(text) if re.search("['\"`]", text[at:end]) else end, own=at + 1)
        elif text.startswith("$[", at):
            self._evaluated(_after(text, at, "]"))
        elif text.startswith("$'", at) and self._open[-1] != '"':
            self._evaluated(_after(text, at + 2, "'"))
        elif text.startswith("$(", at):
            self._commands().word += "$"
            self._open.append(_Commands(at + 2))
            self._at += 2
        elif text.startswith("$$", at):
            self._take(2)
        else:
            return False
        return True

    def _commands(self) -> _Commands:
        return next(each for each in reversed(self._open) if isinstance(each, _Commands))

    def _take(self, count: int) -> None:
        """Adds characters to the word; a backslash outside of single quotes stands for the next one."""
        if self._text[self._at] == "\\" and self._open[-1] != "'":
            self._at += 1
        self._commands().word += self._text[self._at : self._at + count]
        self._at += count

    def _evaluated(self, end: int, own: int = -1) -> None:
        """Continues at `end`; all placeholders before it are CODE, except the shell's own."""
        self.found |= {at: Context.CODE for at in self._spans if self._at <= at < end and at != own}
        self._commands().word += "$"
        self._at = end

    def _is_evaluated(self, commands: _Commands) -> bool:
        """Whether the current command evaluates the current word."""
        words = commands.command
        if not words:
            return False
        end = min(_after(self._text, self._at, sign) for sign in ";|\n")
        whole = self._text[commands.begin : end]
        if words[0] in ("[", "test", "printf") and _COMPARISON.search(whole):
            return True
        if words[0] == "printf" and self._computes and _NUMBER_FORMAT.search(whole):
            return True
        inner = shell_text([*words, "{}"])
        return words[0] in _EVALUATING or hands_on(words) or (inner is not None and inner.place == len(words))


def _after(text: str, at: int, end: str) -> int:
    """The index after the next unescaped `end`; the text's length if there is none."""
    match = re.compile(r"(?:\\.|(?!%s).)*%s" % ((re.escape(end),) * 2), re.DOTALL).match(text, at)
    return match.end() if match else len(text)


def _closing(text: str, at: int, opening: str, closing: str) -> int:
    """The index after the bracket that closes the one at `at`; the text's length if there is none."""
    depth = 0
    for match in re.compile(rf"\\.|[{re.escape(opening + closing)}]", re.DOTALL).finditer(text, at):
        depth += {opening: 1, closing: -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)
