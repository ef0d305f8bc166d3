"""Runs controllers or schedulers against a cluster until stopped, and reports a failed start in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longshore.up.outside.settings import Settings


def run(settings: Settings) -> int:
    """The exit code; raises `Failure` with a message the person can act on."""
    from longshore.cli.main import Failure
    from longshore.client import ConfigError
    from longshore.machinery.election import LeadershipLost
    from longshore.up.outside import outside_process
    from longshore.up.webhooks import CannotServe

    try:
        outside_process.run(settings)
    except ConfigError as err:
        raise Failure(str(err), 2) from None
    except (CannotServe, LeadershipLost, outside_process.Refused) as err:
        raise Failure(str(err)) from None
    except OSError as err:
        raise Failure(f"--metrics-port: {err.strerror or err}") from None
    return 0
