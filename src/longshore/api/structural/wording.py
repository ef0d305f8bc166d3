"""Problems of a value, in the words of the validator that Kubernetes uses for custom resources.

Places are kept as linked pairs while a value is walked and spelt out only here, so a valid object builds no
path. A few problems come from parts of that validator which know no field; Kubernetes prints `<nil>` for
those, and so does longshore.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from longshore.api import field
from longshore.api.field import FieldError

Place: TypeAlias = "tuple[Place, str | int] | None"
"""Where a value is: its container's place, and its key or index there. None is the whole object."""

NO_FIELD: Final = "<nil>"


class Problem(NamedTuple):
    """A problem, and the place of the value that breaks its schema."""

    place: Place
    error: FieldError


def path(place: Place) -> str:
    """`spec.tasks[0].name`; empty for the whole object."""
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")


def invalid(place: Place, value: Any, rule: str) -> Problem:
    """The problem `spec.x in body <rule>`."""
    where = path(place)
    return Problem(place, field.invalid(where, value, f"{where} in body {rule}"))


def wrong_type(place: Place, wanted: str, found: str) -> Problem:
    where = path(place)
    text = f"{where} in body must be of type {wanted}: {field.quoted(found)}"
    return Problem(place, field.type_invalid(where, found, text))


def required(place: Place, name: str) -> Problem:
    return Problem(place, field.required(path((place, name))))


def forbidden_property(place: Place, key: str) -> Problem:
    text = f"{path((place, key))} in body is a forbidden property"
    return Problem(place, field.invalid(path(place), key, text))


def unsupported(place: Place, value: Any, values: list[Any]) -> Problem:
    options = [v if isinstance(v, str) else field.json_text(v) for v in values]
    return Problem(place, field.not_supported(path(place), value, options))


def too_long(place: Place, limit: int) -> Problem:
    return Problem(place, field.too_long(path(place), limit))


def too_many(place: Place, count: int, limit: int) -> Problem:
    return Problem(place, field.too_many(path(place), count, limit))


def without_field(place: Place, text: str) -> Problem:
    """A problem whose place is named only in the text, if at all."""
    return Problem(place, field.invalid(NO_FIELD, "", text))
