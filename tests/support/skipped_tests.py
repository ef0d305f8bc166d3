"""A pytest plugin: a run ends with how many tests were skipped, why, and which command changes that."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

CURES: Final = {
    "make test-": "",  # the reason is the command
    "install": "",
    "make kubectl": "",
    "root": "run the tests as root",
    "rights": "run the tests as root",
    "mount": "run the tests as root",
    "user namespaces": "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000, as root",
    "walls": "run the tests as root, on Linux with namespaces",
    "namespace": "run the tests as root, on Linux with namespaces",
    "podman": "tools/install-podman",
    "recorded": "make kubectl",
    "groff": "apt-get install groff",
    "systemd-analyze": "apt-get install systemd",
    "setpriv": "apt-get install util-linux",
    "useradd": "apt-get install passwd",
    "zone database": "apt-get install tzdata",
    "Python": "apt-get install python3",
    "history": "git fetch --unshallow",
    "clone": "run the tests in a clone of the repository",
}
"""By words of a reason, what makes the test run. An empty text: the reason itself names the command."""


def cure(reason: str) -> str:
    """The command for a reason, or a text that says that there is none."""
    return next((text for words, text in CURES.items() if words in reason), "nothing: the machine is so")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    if not reasons:
        return
    terminalreporter.section(f"{reasons.total()} skipped")
    for reason, number in reasons.most_common():
        command = cure(reason)
        terminalreporter.line(f"{number:5} {reason}" + (f"; to change it: {command}" if command else ""))
