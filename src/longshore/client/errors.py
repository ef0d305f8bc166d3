"""When no answer came. Every answer that is an error is a `longshore.api.errors.StatusError` instead."""

from __future__ import annotations


class Unreachable(Exception):
    """The API server cannot be reached. A write may or may not have happened; read before repeating it."""


class TimedOut(Unreachable):
    """The API server did not answer in time. A write may or may not have happened."""


class ConfigError(Exception):
    """The kubeconfig (or what it refers to) cannot be used. The message names file, field and cure."""


class CredentialsError(ConfigError):
    """The credentials of the kubeconfig's user cannot be had: a plugin failed, a token file is gone."""
