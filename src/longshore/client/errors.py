"""Errors for a missing answer. An answer that is an error is a `longshore.api.errors.StatusError` instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longshore.api.resources import Resource


class Unreachable(Exception):
    """The API server cannot be reached. A write may or may not have happened; read before repeating it."""


class TimedOut(Unreachable):
    """The API server did not answer in time. A write may or may not have happened."""


class Garbled(Unreachable):
    """The answer does not come from an API server, but from a proxy, or it was damaged on the way."""


class PartlyDiscovered(Unreachable):
    """Some groups of the API list no resources, as when the server behind an APIService is down."""

    def __init__(self, found: Sequence[Resource], missing: Sequence[str], reason: str) -> None:
        self.found = found
        """The resources of all other groups."""
        self.missing = missing
        """The group versions whose discovery failed."""
        super().__init__(f"cannot find out what is served in {', '.join(missing)}: {reason}")


class ConfigError(Exception):
    """The kubeconfig (or a file it names) cannot be used. The message names file, field and cure."""


class CredentialsError(ConfigError, Unreachable):
    """The credentials of the kubeconfig's user are not available: a plugin failed, or a token file is gone.
    The failure may pass, like that of a server that cannot be reached."""
