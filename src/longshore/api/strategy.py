"""The hooks by which a kind extends the generic path of requests: its defaults, its checks, its oddities.

The registry calls these hooks in this order:

create:  default -> prepare_create -> (admission) -> validate_create -> warnings_create
update:  default -> prepare_update -> (admission) -> validate_update -> warnings_update

`default` and `prepare_*` change the object they are given (it belongs to the request). `validate_*`
return every problem found, an empty list meaning none; they never raise and never change anything.
Metadata common to all kinds (names, labels, owner references, ...) is checked by the registry.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

from longshore.api.field import FieldError
from longshore.api.reads import Rules
from longshore.api.types import Obj

Propagation = Literal["Background", "Foreground", "Orphan"]
NameRule = Literal["subdomain", "label", "any"]


class Context(NamedTuple):
    """The facts of a request that a hook may use. Time and randomness come from here alone."""

    now: str
    """The request's time as RFC 3339 in whole seconds, UTC."""
    subresource: str = ""
    user: str = ""


class Strategy:
    """The default behaviour: no defaults, no checks of its own, a status kept apart when there is one."""

    name_rule: ClassVar[NameRule] = "subdomain"
    counts_generation: ClassVar[bool] = True
    """Whether metadata.generation starts at 1 and moves with the spec."""
    has_status: ClassVar[bool] = True
    """Whether `status` belongs to the status subresource, so that main writes keep the stored one."""
    unconditional_update: ClassVar[bool] = True
    """Whether a PUT may leave resourceVersion out, and a patch take it away."""
    create_on_update: ClassVar[bool] = False
    """Whether a PUT to a missing name creates the object."""
    graceful: ClassVar[bool] = False
    """Whether deletion waits for a grace period (pods)."""
    default_propagation: ClassVar[Propagation] = "Background"
    can_own: ClassVar[bool] = True
    """Whether a deletion may wait for dependents. The garbage collector does not follow events."""
    marks_grace: ClassVar[bool] = True
    """Whether deletion sets deletionGracePeriodSeconds beside the time stamp (namespaces do not)."""
    delete_answers_object: ClassVar[bool] = False
    """Whether an immediate delete answers the object instead of a Status, as upstream's stores choose."""
    keeps_parts: ClassVar[bool] = False
    """Whether no hook of an update writes into the spec or status it is given, so that a write which
    leaves one of them alone may share it with the stored object."""
    rules: Rules | None = None
    """The rules that the hooks of a create run. None does not say, so they may read everything."""
    converts: ClassVar[bool] = False
    """Whether the stored form differs from the served one (events.k8s.io); see to_storage."""

    def to_storage(self, obj: Obj) -> Obj:
        """The stored form of a served object. Called only when `converts`."""
        return obj

    def from_storage(self, obj: Obj) -> Obj:
        """The served form of a stored object. Called only when `converts`."""
        return obj

    def coerce(self, obj: Obj) -> list[str]:
        """Custom kinds: brings an object that was read as it stands into the form of its schema.

        Returns what strict decoding complains of, as `unknown field "spec.foo"`. Raises DecodeError for
        metadata that is none.
        """
        return []

    def part(self, name: str, value: Obj) -> Obj | None:
        """Custom kinds that keep parts: one part of an object, a copy that is coerced and has its defaults.
        None where that needs the whole object."""
        return None

    def default(self, obj: Obj) -> None:
        """Fills in what the client left out. Runs on every decode, before anything else."""

    def default_status(self, obj: Obj) -> None:
        """Kinds that keep parts: fills in an object of which the status is new and all else is stored, and
        stays as it is."""

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        """Clears what a client may not set on create (status) and sets what depends on name and uid.
        Both are assigned already."""
        if self.has_status:
            obj.pop("status", None)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return []

    def warnings_create(self, obj: Obj, ctx: Context) -> list[str]:
        """Texts for `Warning:` headers."""
        return []

    def prepare_update(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Puts back what a write to the main resource may not change. Sets nothing in metadata."""
        if self.has_status:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return []

    def warnings_update(self, new: Obj, old: Obj, ctx: Context) -> list[str]:
        return []

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Puts back all that a write to /status may not change. Labels and annotations may."""
        if "spec" in old:
            new["spec"] = old["spec"]
        else:
            new.pop("spec", None)

    def validate_status(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return []

    def generation_changed(self, new: Obj, old: Obj) -> bool:
        """Whether this update moves metadata.generation."""
        return bool(new.get("spec") != old.get("spec"))

    def prepare_subresource(self, new: Obj, old: Obj, ctx: Context) -> None:
        """For subresources that are neither status nor a class of their own (pods/resize,
        namespaces/finalize): keeps in `new` only what `ctx.subresource` may change."""
        if "status" in old:
            new["status"] = old["status"]

    def validate_subresource(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return self.validate_update(new, old, ctx)

    def check_deletable(self, obj: Obj) -> None:
        """Raises StatusError for an object that may never be deleted (namespace default)."""

    def begin_deletion(self, obj: Obj) -> None:
        """Changes the object when deletionTimestamp is set (a namespace becomes Terminating)."""

    def holds(self, obj: Obj) -> bool:
        """Whether the object must stay although metadata.finalizers is empty (namespaces)."""
        return False
