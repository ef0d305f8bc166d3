"""What kubectl before 1.36 prints in other words than the recording. All of it is the client's own doing.

The server's answers are the same; tried with 1.27 to 1.33. Where two lines differ by a phrase, the recorded
text is put into the older words; where the layout differs, the reason for not comparing is given.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Reworded(NamedTuple):
    before: int
    """Minor versions below this one use the older words."""
    command: str
    """A pattern of recorded names."""
    words: str
    older: str


REWORDED = [
    # Says since 1.34 where from (kubernetes/kubernetes#126619).
    Reworded(34, r"delete-.*|replace-force", r" from demo namespace", ""),
    # Printed times that were never set until 1.34.
    Reworded(34, r"create-job-dry-run-client", r"(?m)^metadata:$", "metadata:\n  creationTimestamp: null"),
    Reworded(34, r"create-job-dry-run-client", r"metadata: \{\}", "metadata:\n      creationTimestamp: null"),
    # Describes a time zone since some version after 1.33.
    Reworded(36, r"describe-cronjob", r"Time Zone: .*\n", ""),
    # Learnt the server's emulation version later.
    Reworded(31, r"version", r' *"(emulation|minCompatibility)(Major|Minor)": .*\n', ""),
    # `annotate` lost a letter in 1.27.
    Reworded(28, r"annotate.*", r"annotated", "annotate"),
    Reworded(
        30,
        r"logs-missing",
        r'error: error from server \(NotFound\): (.*) in namespace "demo"',
        r"Error from server (NotFound): \1",
    ),
]

NOT_COMPARED = [
    (36, r"version", "prints its own version, and warns of the distance to the server's"),
    (32, r"cluster-info", "coloured its words even where no terminal is"),
    (28, r"auth-whoami", "asked for versions of the review that 1.36 has no more"),
    (30, r"describe-(job|complete|cronjob)", "described fewer fields, which moves the columns"),
]


def words_of(minor: int, name: str, recorded: str) -> str:
    """The recorded text as a kubectl of that version says it."""
    for change in REWORDED:
        if minor < change.before and re.fullmatch(change.command, name):
            recorded = re.sub(change.words, change.older, recorded)
    return recorded


def why_not_compared(minor: int, name: str) -> str | None:
    for before, command, reason in NOT_COMPARED:
        if minor < before and re.fullmatch(command, name):
            return f"kubectl 1.{minor} {reason}"
    return None
