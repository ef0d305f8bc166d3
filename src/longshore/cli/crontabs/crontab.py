"""Reads crontabs. Fields, variables, `%` and names such as `@daily` are those of Vixie's cron and cronie.

Kubernetes' schedules know no Sunday as 7, which becomes 0 here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from longshore.api import cron

_VARIABLE: Final = re.compile(r"""\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*\Z""")
_FIELDS: Final = re.compile(r"\s*(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)\Z", re.DOTALL)
_NAMED: Final = re.compile(r"\s*(@\S+)\s+(.*)\Z", re.DOTALL)
_PERCENT: Final = re.compile(r"(?<!\\)%")
_SHELL: Final = "/bin/sh"
_PATH: Final = "/usr/bin:/bin"
_SHELL_WORDS: Final = frozenset((
    "bash", "chronic", "env", "exec", "export", "if", "ionice", "nice", "sh", "sudo", "test", "then",
    "time", "timeout",
))  # fmt: skip
"""Words that stand before the program that a line is about."""


@dataclass(frozen=True, slots=True)
class CrontabEntry:
    """One line that starts a command."""

    number: int
    """The number of its line, from 1."""
    name: str
    """The name of its CronJob: the program's name, numbered if it is not the first."""
    schedule: str
    command: str
    """The text for the shell."""
    input: str | None
    """Standard input of the command: the text after the first `%`; None without a `%`."""
    shell: str
    env: Mapping[str, str]
    zone: str
    """The zone of CRON_TZ; empty if none is set."""
    spread_minutes: int
    """How far RANDOM_DELAY moves the start."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """One line that cannot be taken over."""

    number: int
    text: str
    why: str


@dataclass(slots=True)
class Crontab:
    entries: list[CrontabEntry] = field(default_factory=list)
    refused: list[RefusedLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Differences between cron and longshore, a line each."""


def read(lines: Iterable[str], home: str) -> Crontab:
    """Reads the lines of a user's crontab. `home` is the user's home directory."""
    found = Crontab()
    settings: dict[str, str] = {"HOME": home, "PATH": _PATH, "SHELL": _SHELL}
    names: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip("\r\n")
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        if variable := _VARIABLE.fullmatch(text):
            _set(found, settings, number, variable[2], variable[3])
            continue
        try:
            found.entries.append(_entry(number, text, settings, names))
        except ValueError as err:
            found.refused.append(RefusedLine(number, text.strip(), str(err)))
    return found


def _set(found: Crontab, settings: dict[str, str], number: int, name: str, value: str) -> None:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    if name == "MAILTO" and value:
        found.notes.append(
            f"line {number}: no mail goes to {value}; longshore cron logs NAME prints what a run wrote, and "
            "longshore history --failed lists what failed"
        )
    settings[name] = value


def _entry(number: int, text: str, settings: Mapping[str, str], names: dict[str, int]) -> CrontabEntry:
    """The entry of a line. Raises ValueError with the reason if there is none."""
    parts = _NAMED.fullmatch(text) or _FIELDS.fullmatch(text)
    if parts is None:
        raise ValueError("it has neither a schedule of five fields with a command, nor NAME=VALUE")
    schedule = _schedule(" ".join(parts[1].split()))
    zone = settings.get("CRON_TZ", "")
    if zone:
        cron.load(zone)
    first, *rest = _PERCENT.split(parts[2])
    command, *more = (part.replace("\\%", "%") for part in (first, *rest))
    given = "\n".join(more)
    if not command.strip():
        raise ValueError("it has no command")
    apart = ("CRON_TZ", "MAILTO", "MAILFROM", "RANDOM_DELAY", "SHELL")
    env = {name: value for name, value in settings.items() if name not in apart}
    delay = settings.get("RANDOM_DELAY", "")
    if delay and not delay.isdecimal():
        raise ValueError(f"RANDOM_DELAY={delay} is no number of minutes")
    return CrontabEntry(
        number,
        _name(command, names),
        schedule,
        command.strip(),
        None if not more else given if given.endswith("\n") else f"{given}\n",
        settings["SHELL"],
        env,
        zone,
        int(delay or 0),
    )


def _schedule(text: str) -> str:
    """The schedule as Kubernetes writes it. Raises ValueError."""
    if text == "@reboot":
        raise ValueError("@reboot is no time: make a unit of systemd for what starts with the machine")
    if text == "@every_minute":
        text = "* * * * *"
    if not text.startswith("@"):
        if "~" in text:
            raise ValueError("random times such as 0~59 are not known: write a number, or set RANDOM_DELAY")
        *fields, weekdays = text.split()
        text = " ".join([*fields, ",".join(map(_without_seven, weekdays.split(",")))])
    if not fires(cron.parse(text)):
        raise ValueError(f"{text} never fires")
    return text


def fires(schedule: cron.Schedule | cron.Every) -> bool:
    """Whether there is a time at which the schedule fires: `0 0 31 2 *` has none."""
    return schedule.next(0, cron.UTC) is not None


def _without_seven(part: str) -> str:
    """A part of the field of weekdays with Sunday as 0: cron also takes 7."""
    days, slash, step = part.partition("/")
    first, dash, last = days.partition("-")
    if last in ("7", "07") and first.isdecimal():
        found = [day % 7 for day in range(int(first), 8, int(step) if step.isdecimal() and int(step) else 1)]
        return ",".join(map(str, found))
    return f"0{slash}{step}" if days in ("7", "07") and not dash else part


def _name(command: str, names: dict[str, int]) -> str:
    """A name for the CronJob: that of the program, numbered if it is not the first."""
    words = iter(re.split(r"[\s;&|()<>]+", command))
    base = "job"
    for word in words:
        word = word.strip("\"'")
        if word in ("cd", "flock"):
            while next(words, "").startswith("-"):  # their file or directory
                pass
        elif _is_program(word):
            base = os.path.basename(word).partition(".")[0].lower()
            break
    base = re.sub(r"[^a-z0-9]+", "-", base).strip("-")[:40].rstrip("-") or "job"
    names[base] = names.get(base, 0) + 1
    return base if names[base] == 1 else f"{base}-{names[base]}"


def _is_program(word: str) -> bool:
    """Whether a word may be the program that a line is about: no option, variable, number or shell word."""
    if not word or word[0] in "-[$@:!" or "=" in word or word.rstrip("smhd").isdecimal():
        return False
    return os.path.basename(word) not in _SHELL_WORDS
