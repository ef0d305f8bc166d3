"""Makes what differs from run to run the same: ages, uids, versions, times, drawn names.

The words stand in the README of the recordings. Times of 2021 are the tester's own and stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_RULES = [
    (re.compile(pattern), word)
    for pattern, word in [
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>"),
        (r"\b(?!2021-06-01)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (r'(?<=resourceVersion: )"\d+"', '"<rv>"'),
        (r'(?<="resourceVersion": )"\d+"', '"<rv>"'),
        (r"\bgen-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "gen-<rand5>"),
        (r"https?://127\.0\.0\.1:\d+", "http://<server>"),
        (r"/\S+/(LIVE|MERGED)-\d+/", r"<tmp>/\1-<n>/"),
        (r"(?m)^((?:---|\+\+\+) \S+)\t.*$", r"\1 <when>"),
        (r"(?m)^[IWEF]\d{4} .*\n", ""),  # log lines of the client library
        (
            r'"(gitCommit|gitTreeState|buildDate|goVersion|compiler|platform|kustomizeVersion)": "[^"]*"',
            r'"\1": "<any>"',
        ),
    ]
]
_AGE = re.compile(r"(\d+[ydhms]){1,2}|<invalid>")
_CELLS = re.compile(r" {2,}")


def text(raw: str, command: Sequence[str]) -> str:
    for pattern, word in _RULES:
        raw = pattern.sub(word, raw)
    if "describe" in command:
        described, events, table = raw.partition("\nEvents:\n")
        return described + events + _table(table)
    return _table(raw) if _prints_a_table(command) else raw


def _prints_a_table(command: Sequence[str]) -> bool:
    if command[1] not in ("get", "events", "api-resources"):
        return False
    if "-o" in command:
        return command[command.index("-o") + 1].startswith(("wide", "custom-columns"))
    return "--raw" not in command


def _table(raw: str) -> str:
    return "".join(_row(line) + "\n" for line in raw.splitlines())


def _row(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    cells = _CELLS.split(line.strip())
    return indent + "   ".join("<age>" if _AGE.fullmatch(cell) else cell for cell in cells)


def value(raw: Any) -> Any:
    """The same for a decoded body: every string in it."""
    for pattern, word in _RULES[:5]:
        raw = pattern.sub(word, raw) if isinstance(raw, str) else raw
    if isinstance(raw, dict):
        return {k: "<rv>" if k == "resourceVersion" else value(v) for k, v in raw.items()}
    return [value(item) for item in raw] if isinstance(raw, list) else raw


def structure_of(explained: str) -> list[str]:
    """What `kubectl explain` says of structure. Its sentences come from the server, and ours are others."""
    kept = re.compile(r"[A-Z]+:( |$)|  \S+\t<")
    return [line for line in explained.splitlines() if kept.match(line)]
