"""The hooks by which a kind extends the generic handling of requests: defaults, checks, special cases.

A kind's behaviour is one row, a `Strategy`: facts, and functions for the hooks that differ from the default.

The registry calls these hooks in this order:

create:  default -> prepare_create -> (admission) -> validate_create -> warnings_create
update:  default -> prepare_update -> (admission) -> validate_update -> warnings_update

`default` and `prepare_*` change the object they are given (it belongs to the request). `validate_*`
return every problem found, an empty list meaning none; they never raise and never change anything.
Metadata common to all kinds (names, labels, owner references, ...) is checked by the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from longshore.api.field import FieldError
from longshore.api.types import Obj, keep

Propagation = Literal["Background", "Foreground", "Orphan"]
NameRule = Literal["subdomain", "label", "any"]


class Context(NamedTuple):
    """The facts of a request that a hook may use. Time and randomness come from here alone."""

    now: str
    """The request's time as RFC 3339 in whole seconds, UTC."""
    subresource: str = ""
    user: str = ""


def keep_status(new: Obj, old: Obj) -> None:
    """Restores the stored status."""
    keep(new, old, "status")


def keep_spec(new: Obj, old: Obj) -> None:
    """Restores the stored spec."""
    keep(new, old, "spec")


def starts_with(status: Obj) -> Callable[[Obj, Context], None]:
    """A `prepare_create` that gives a new object this status."""

    def prepare(obj: Obj, ctx: Context) -> None:
        obj["status"] = dict(status)

    return prepare


class Strategy(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The behaviour of a kind. By default it has no defaults, no checks of its own, and a /status."""

    name_rule: NameRule = "subdomain"
    counts_generation: bool = True
    """Whether metadata.generation starts at 1 and grows when the spec changes."""
    has_status: bool = True
    """Whether `status` belongs to the status subresource, so that other writes keep the stored one."""
    unconditional_update: bool = True
    """Whether a PUT may leave resourceVersion out, and a patch may remove it."""
    create_on_update: bool = False
    """Whether a PUT to a missing name creates the object."""
    graceful: bool = False
    """Whether deletion waits for a grace period (pods)."""
    default_propagation: Propagation = "Background"
    can_own: bool = True
    """Whether a deletion may wait for dependents. False for events, which the garbage collector ignores."""
    marks_grace: bool = True
    """Whether deletion sets deletionGracePeriodSeconds beside the time stamp (namespaces do not)."""
    delete_answers_object: bool = False
    """Whether an immediate delete answers the object instead of a Status, as some kinds do upstream."""
    keeps_parts: bool = False
    """Whether no hook of an update writes into the spec or status that it is given. Then an unchanged spec or
    status may be shared with the stored object."""
    converts: bool = False
    """Whether the stored form differs from the served one (events.k8s.io); see to_storage."""

    to_storage: Callable[[Obj], Obj] = lambda obj: obj
    """The stored form of a served object. Called only when `converts`."""
    from_storage: Callable[[Obj], Obj] = lambda obj: obj
    """The served form of a stored object. Called only when `converts`."""
    default: Callable[[Obj], None] = lambda obj: None
    """Fills in fields that the client left out. Runs on every decode, before anything else."""
    default_status: Callable[[Obj], None] = lambda obj: None
    """For kinds with `keeps_parts`: fills in defaults when only the status is new. All other parts are stored
    and must not be changed."""
    prepare_create: Callable[[Obj, Context], None] = lambda obj, ctx: obj.pop("status", None)
    """Clears fields that a client may not set on create (by default the status) and sets those that depend
    on name and uid. Both are assigned already."""
    validate_create: Callable[[Obj], list[FieldError]] = lambda obj: []
    warnings_create: Callable[[Obj], list[str]] = lambda obj: []
    """Texts for `Warning:` headers."""
    prepare_update: Callable[[Obj, Obj], None] = keep_status
    """Takes the new and the old object. Restores fields that a write to the main resource may not change (by
    default the status). Changes no metadata."""
    validate_update: Callable[[Obj, Obj], list[FieldError]] = lambda new, old: []
    warnings_update: Callable[[Obj, Obj], list[str]] = lambda new, old: []
    prepare_status: Callable[[Obj, Obj, Context], None] = lambda new, old, ctx: keep_spec(new, old)
    """Restores everything that a write to /status may not change. Labels and annotations may change."""
    validate_status: Callable[[Obj, Obj], list[FieldError]] = lambda new, old: []
    generation_changed: Callable[[Obj, Obj], bool] = lambda new, old: new.get("spec") != old.get("spec")
    """Whether this update increases metadata.generation."""
    prepare_subresource: Callable[[Obj, Obj, Context], None] = lambda new, old, ctx: (
        new.update(status=old["status"]) if "status" in old else None
    )
    """For subresources such as pods/resize and namespaces/finalize, which have no code of their own: restores
    all fields that `ctx.subresource` may not change."""
    validate_subresource: Callable[[Obj, Obj, Context], list[FieldError]] | None = None
    """The checks of a write to these subresources; None means the checks of an update."""
    check_deletable: Callable[[Obj], None] = lambda obj: None
    """Raises StatusError for an object that may never be deleted (namespace default)."""
    begin_deletion: Callable[[Obj], None] = lambda obj: None
    """Changes the object when deletionTimestamp is set (a namespace becomes Terminating)."""
    holds: Callable[[Obj], bool] = lambda obj: False
    """Whether the object must stay although metadata.finalizers is empty (namespaces)."""

    coerce: Callable[[Obj], list[str]] = lambda obj: []
    """For custom kinds: brings a decoded object into the form of its schema. Returns the problems of strict
    decoding, as `unknown field "spec.foo"`. Raises DecodeError for unfit metadata."""
    part: Callable[[str, Obj], Obj | None] = lambda name, value: None
    """For custom kinds with `keeps_parts`: a coerced copy of one part of an object, with defaults. None if
    that needs the whole object."""
