"""Reads resourceVersion parameters, and waits for a revision that is not reached yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import errors, field

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_MAX_DIGITS: Final = 20  # digits of the greatest version
_WAIT_SECONDS: Final = 3.0  # seconds upstream waits for its cache before it answers 504


def parse(text: str, *, listing: bool = False) -> int:
    """The number in a resourceVersion; 0 for none. Lists refuse nonsense with 400, others with 500."""
    if not text:
        return 0
    try:
        return number(text)
    except ValueError as error:
        message = f"resourceVersion: Invalid value: {field.quoted(text)}: {error}"
    if listing:
        raise errors.bad_request("invalid resource version: " + message)
    raise errors.StatusError(500, "", message)


def number(text: str) -> int:
    """The number in a version, as Go's ParseUint reads it. Raises ValueError with Go's message."""
    digits = text.lstrip("0") or text[:1] if text.isascii() and text.isdigit() else ""
    if digits and len(digits) <= _MAX_DIGITS and int(digits) < 2**64:
        return int(digits)
    why = "value out of range" if digits else "invalid syntax"
    raise ValueError(f"strconv.ParseUint: parsing {field.quoted(text)}: {why}")


def is_set(text: str | None) -> bool:
    """Whether a new object names a version, which it must not. A text that is no number counts as none."""
    try:
        return bool(text and number(text))
    except ValueError:
        return False


async def wait_until(api: Api, revision: int) -> None:
    """Waits until the store shows `revision`; raises a 504 if that takes too long."""
    if revision <= api.store.revision:
        return
    try:
        async with api.client_clock.timeout(_WAIT_SECONDS):
            await api.store.reached(revision)
    except TimeoutError:
        raise too_large(revision, api.store.revision) from None


def too_large(asked: int, current: int) -> errors.StatusError:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return errors.StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details={"causes": causes, "retryAfterSeconds": 1},
    )


def expired(message: str, continue_: str = "") -> errors.StatusError:
    """A 410: the revision is compacted; `continue_` is a token for an inconsistent rest of the list."""
    metadata = {"continue": continue_} if continue_ else None
    return errors.StatusError(410, "Expired", message, metadata=metadata)
