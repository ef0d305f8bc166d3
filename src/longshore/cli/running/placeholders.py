"""Placeholders in a command of `--each`, as GNU parallel writes them: `{}`, `{/}`, `{//}`, `{.}`, `{/.}`,
`{#}`, `{1}`, and `{column}`.

They become Kubernetes' own `$(NAME)`, with the variables of a pod's item (`api/facts/run_items.py`), and in
the text of a shell's `-c` variables of the shell (`shell_text.py`). A command without a placeholder gets the
item as its last argument.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from longshore.api.facts import run_items
from longshore.api.facts.run_items import VARIABLE as ITEM
from longshore.cli.running import shell_text
from longshore.cli.running.each_items import Items
from longshore.cli.running.shell_text import Context

_VARIABLES: Final = {
    "": ITEM,
    "#": f"{ITEM}_NUMBER",
    "/": f"{ITEM}_BASENAME",
    "//": f"{ITEM}_DIRNAME",
    ".": f"{ITEM}_STEM",
    "/.": f"{ITEM}_BASESTEM",
}
_BRACES: Final = re.compile(r"\{([^{}\s]*)\}")
_SOURCES: Final = (":::", ":::+", "::::", "::::+")
"""Words that GNU parallel reads its items after."""


def foreign_source(words: Sequence[str]) -> str:
    """The first word that names items for GNU parallel, unless the command is `parallel`; empty for none."""
    if any(os.path.basename(word) == "parallel" for word in words):
        return ""
    return next((word for word in words[1:] if word in _SOURCES), "")


def escaped(text: str) -> str:
    """The text with each `$` doubled for Kubernetes, which would replace `$(NAME)` in a command."""
    return text.replace("$", "$$")


class Placeholder(NamedTuple):
    start: int
    end: int
    variable: str
    context: Context


class ItemCommand:
    """The words of a command with placeholders for items. `raw` items become part of a shell's text."""

    def __init__(self, words: Sequence[str], items: Items, *, raw: bool = False) -> None:
        self._items = items
        self._shell = shell_text.shell_text(words)
        self._words, self._placeholders = [*words], [*self._found(words, raw=raw)]
        self.is_appended = not any(self._placeholders) and not any(ITEM in word for word in words)
        """Whether the item is appended as the last argument."""
        if self.is_appended:
            fields = len(items.rows[0])
            self._words += ["{}"] if fields == 1 else [f"{{{number}}}" for number in range(1, fields + 1)]
            self._shell = shell_text.shell_text(self._words)
            self._placeholders = [*self._found(self._words, raw=raw)]

    def in_manifest(self) -> list[str]:
        """The words with variables for placeholders."""
        return self._replaced(lambda each: each.context.variable(each.variable), escaped)

    def of_item(self, index: int) -> list[str]:
        """The words with the values of one item, for people to read and to type."""
        values = run_items.variables(self._items.rows[index], index)
        return self._replaced(lambda each: each.context.quoted(values[each.variable]), str)

    def problem(self) -> str:
        """Why this command cannot be run with these items; empty if it can."""
        columns, fields = self._items.columns, len(self._items.rows[0])
        if wrong := self._unknown():
            if columns:
                return f"{wrong} is no column of the table: {', '.join(columns)}"
            return f"{wrong} is no field of the items, which have {fields}"
        if self._shell is not None:
            text, places = self._words[self._shell.place].strip(), self._placeholders[self._shell.place]
            if _BRACES.fullmatch(text) and places and places[0].context is not Context.WORD:
                return f"{text} is the whole text of a shell: to run each item as a command, pass --raw-items"
        return self._executed()

    def warning(self) -> str:
        """A remark on an item that a shell's text does not use; empty for none."""
        if not self.is_appended or self._shell is None or self._shell.place != len(self._words) - 2:
            return ""
        if re.search(r"\$(0|\{0)", self._words[self._shell.place]):
            return ""
        return "the text of the shell uses no item: write {} in it (the item is its $0, as with xargs)"

    def _replaced(self, value: Callable[[Placeholder], str], literal: Callable[[str], str]) -> list[str]:
        """The words with a value for each placeholder; `literal` is applied to the text between them."""
        done = []
        for word, places in zip(self._words, self._placeholders, strict=True):
            ends = [0, *(each.end for each in places)]
            starts = [*(each.start for each in places), len(word)]
            between = [literal(word[end:start]) for end, start in zip(ends, starts, strict=True)]
            values = [*map(value, places), ""]
            done.append("".join(part for pair in zip(between, values, strict=True) for part in pair))
        return done

    def _executed(self) -> str:
        """Describes the first item that a shell would execute in part; empty for none."""
        evaluated = [
            (word[each.start : each.end], each.variable)
            for word, places in zip(self._words, self._placeholders, strict=True)
            for each in places
            if each.context is Context.CODE
        ]
        for index, row in enumerate(self._items.rows if evaluated else ()):
            values = run_items.variables(row, index)
            for braces, variable in evaluated:
                if not shell_text.PLAIN.fullmatch(values[variable]):
                    return (
                        f"a shell would evaluate the item {values[variable]!r} where {braces} stands: "
                        f"give it as an argument, sh -c '... \"$1\" ...' sh {braces}, or pass --raw-items"
                    )
        return ""

    def _unknown(self) -> str:
        """The first braces around a name or number that is no column or field; empty for none."""
        columns, fields = self._items.columns, len(self._items.rows[0])
        for index, word in enumerate(self._words if columns or fields > 1 else ()):
            for match in _BRACES.finditer(word):
                named = match[1].isidentifier() if columns else match[1].isdecimal()
                shells = self._shell is not None and self._shell.place == index
                if (
                    named
                    and not self._name(match[1])
                    and not (shells and word[: match.start()].endswith("$"))
                ):
                    return match[0]
        return ""

    def _found(self, words: Sequence[str], *, raw: bool) -> Iterator[list[Placeholder]]:
        """The placeholders of each word."""
        runs_text = shell_text.hands_on(words) and not raw
        for index, word in enumerate(words):
            places = [(match, name) for match in _BRACES.finditer(word) if (name := self._name(match[1]))]
            spans = {match.start(): match.end() for match, _ in places}
            known = dict.fromkeys(spans, Context.CODE if runs_text else Context.WORD)
            if self._shell is not None and self._shell.place == index:
                known = shell_text.contexts(word, spans, computes=self._shell.computes)
                if raw or runs_text or not self._shell.is_readable:
                    known = dict.fromkeys(known, Context.WORD if raw else Context.CODE)
            yield [
                Placeholder(*match.span(), name, known[match.start()])
                for match, name in places
                if match.start() in known
            ]

    def _name(self, inside: str) -> str:
        """The variable of a placeholder; empty if it is none."""
        columns = self._items.columns
        if inside in columns:
            return f"{ITEM}_{columns.index(inside) + 1}"
        if inside.isdecimal() and 1 <= int(inside) <= len(self._items.rows[0]):
            return f"{ITEM}_{int(inside)}"
        return _VARIABLES.get(inside, "")
