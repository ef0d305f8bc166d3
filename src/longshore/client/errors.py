"""Errors for a missing answer. An answer that is an error is a `longshore.api.errors.StatusError` instead."""

from __future__ import annotations


class Unreachable(Exception):
    """The API server cannot be reached. A write may or may not have happened; read before repeating it."""


class TimedOut(Unreachable):
    """The API server did not answer in time. A write may or may not have happened."""


class ConfigError(Exception):
    """The kubeconfig (or a file it names) cannot be used. The message names file, field and cure."""


class CredentialsError(ConfigError, Unreachable):
    """The credentials of the kubeconfig's user are not available: a plugin failed, or a token file is
    gone. That may pass, as any server that cannot be reached may come back.
    """
