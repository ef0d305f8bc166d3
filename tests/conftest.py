"""What holds for every test."""

from __future__ import annotations

import functools
import os
import signal

from hypothesis import HealthCheck, settings

from longshore.apiserver.api import Api
from longshore.up.options import SHORTCUTS_VARIABLE

if os.environ.get(SHORTCUTS_VARIABLE) == "off":
    # APIs that tests build in this process have no shortcuts then, unless a test says which way it means.
    # Every Api of the process, also those that tests make themselves: no parameter reaches all of them.
    Api.__init__ = functools.partialmethod(Api.__init__, shortcuts=False)  # type: ignore[assignment, method-assign]


settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # a busy machine is slow, and nothing is wrong with a property then

os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/var/tmp")
"""Where tests have their files: pods of level full, the default, have a /tmp of their own."""


def pytest_configure() -> None:
    """Lets children begin with the default for SIGINT and SIGHUP, even if the tests began with both ignored.

    A script's `&` and `nohup` ignore them, and a child inherits that. A handler is not inherited: with one
    that does nothing the signals stay without effect here, and end a child when a test sends them.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
