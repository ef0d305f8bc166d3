"""Prints the server's refusals in kubectl's words, so that people find them when they search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from longshore.api.errors import StatusError
from longshore.cli.main import Failure, Said
from longshore.client.errors import ConfigError, Unreachable


@contextmanager
def as_failure(context: str = "") -> Iterator[None]:
    """Ends the command with the block's refusal as its message. `context` comes before the server's words."""
    try:
        yield
    except StatusError as err:
        raise Said(text(err, context)) from None
    except (Unreachable, ConfigError) as err:
        raise Failure(str(err)) from None


def text(err: StatusError, context: str = "") -> str:
    """The message of one refusal."""
    details = err.details or {}
    if err.reason == "Invalid":
        begun = "The request is invalid"
        if details.get("kind") or details.get("name"):
            begun = f'The {details.get("kind", "")} "{details.get("name", "")}" is invalid'
        said = dict.fromkeys(_cause(cause) for cause in details.get("causes") or ())
        if not said:
            return f"{begun}: {err.message}" if not details else begun
        if len(said) == 1:
            return f"{begun}: {next(iter(said))}"
        return "\n".join([f"{begun}: ", *(f"* {each}" for each in said)])
    who = f"Error from server ({err.reason})" if err.reason else "Error from server"
    return f"{who}: {context}{err.message}"


def _cause(cause: dict[str, str]) -> str:
    field, message = cause.get("field", ""), cause.get("message", "")
    return f"{field}: {message}" if field else message
