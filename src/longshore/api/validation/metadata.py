"""Checks of `metadata`: names, labels, annotations, owner references, finalizers.

The functions take a metadata dict and return field errors; only `drop_duplicate_owners` changes it.
Kubernetes runs these checks several times on an update (once for every kind, again in most kinds' own
validation) and clients see each problem as often as it was found. Hence two groups of functions:

`validate_create` and `validate_update` are what the registry runs for every kind;
`validate_update_again` is what kinds repeat on an update, as Kubernetes' built-in kinds do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from longshore.api import field, label_syntax, names
from longshore.api.field import FieldError
from longshore.api.strategy import NameRule
from longshore.api.types import Obj

MAX_ANNOTATIONS_BYTES: Final = 256 * 1024
STANDARD_FINALIZERS: Final = frozenset(("kubernetes", "orphan", "foregroundDeletion"))

_SELECTOR_VALUES_NEEDED: Final = frozenset(("In", "NotIn"))
_SELECTOR_VALUES_FORBIDDEN: Final = frozenset(("Exists", "DoesNotExist"))


def validate_create(
    meta: Obj,
    *,
    namespaced: bool,
    name_rule: NameRule | names.NameFunction,
    path: str = "metadata",
    short_finalizers: bool = False,
    old: Obj | None = None,
) -> list[FieldError]:
    """Checks the metadata of a new object whose name has been generated already. `short_finalizers` allows
    finalizers without a slash, as on custom resources. If an update repeats these checks, `old` saves work:
    unchanged parts have passed before."""
    check = names.NAME_FUNCTIONS[name_rule] if isinstance(name_rule, str) else name_rule
    if old is None and namespaced and _is_usual(meta, check):
        return []
    found: list[FieldError] = []
    prefix = meta.get("generateName")
    if prefix:
        found += [field.invalid(f"{path}.generateName", prefix, text) for text in check(prefix, True)]
    name = meta.get("name")
    if not name:
        found.append(field.required(f"{path}.name", "name or generateName is required"))
    else:
        found += [field.invalid(f"{path}.name", name, text) for text in check(name, False)]
    namespace = meta.get("namespace")
    if not namespaced:
        if namespace:
            found.append(field.forbidden(f"{path}.namespace", "not allowed on this type"))
    elif not namespace:
        found.append(field.required(f"{path}.namespace"))
    else:
        found += [field.invalid(f"{path}.namespace", namespace, t) for t in names.dns1123_label(namespace)]
    if meta.get("generation", 0) < 0:
        found.append(field.invalid(f"{path}.generation", meta["generation"], field.NOT_NEGATIVE))
    found += _parts(meta, path, old)
    finalizers = meta.get("finalizers")
    if finalizers:
        found += validate_finalizers(finalizers, f"{path}.finalizers")
        if not short_finalizers:
            found += validate_finalizer_style(finalizers, f"{path}.finalizers")
    return found


def _is_usual(meta: Obj, check: names.NameFunction) -> bool:
    """Whether a new object in a namespace is valid, found without building messages."""
    name, prefix = meta.get("name"), meta.get("generateName")
    if not name or check(name, False) or (prefix and check(prefix, True)):
        return False
    if not names.is_dns1123_label(meta.get("namespace", "")) or meta.get("generation", 0) < 0:
        return False
    return is_plain(meta)


def is_plain(meta: Obj) -> bool:
    """Whether labels, annotations, owner references and finalizers are plainly valid. False in doubt; then
    the other functions decide."""
    fits, value_fits = label_syntax.is_qualified_name, label_syntax.is_label_value
    labels = meta.get("labels") or _NOTHING
    for key in labels:
        if not fits(key):
            return False
    for value in set(labels.values()):  # those of a Job come twice
        if not value_fits(value):
            return False
    size = 0
    for key, value in (meta.get("annotations") or _NOTHING).items():
        if not fits(key.lower()):
            return False
        size += len(key) + len(value)
    for finalizer in meta.get("finalizers") or ():
        if "/" not in finalizer or not fits(finalizer):
            return False
    owners = meta.get("ownerReferences")
    return size * _MAX_CHARACTER_BYTES <= MAX_ANNOTATIONS_BYTES and not (
        owners and validate_owner_references(owners, "")
    )


_NOTHING: Final[Mapping[str, str]] = {}
_MAX_CHARACTER_BYTES: Final = 4
"""The most bytes of one UTF-8 character."""


def validate_update(new: Obj, old: Obj, path: str = "metadata") -> list[FieldError]:
    """The registry's checks of an update of any kind: first the rules of a new object, but with any name that
    fits into a URL, then the rules for changes."""
    found = validate_create(
        new, namespaced="namespace" in old, name_rule="any", path=path, short_finalizers=True, old=old
    )
    return found + _changes(new, old, path)


def again(
    check: Callable[[Obj], list[FieldError]], *, namespaced: bool | None = None
) -> Callable[[Obj, Obj], list[FieldError]]:
    """The checks of an update that repeats those of a create: `validate_update_again`, then `validate_create`
    of the metadata if `namespaced` is given, then `check` of the new object."""

    def validate_update(new: Obj, old: Obj) -> list[FieldError]:
        found = validate_update_again(new["metadata"], old["metadata"])
        if namespaced is not None:
            found += validate_create(new["metadata"], namespaced=namespaced, name_rule="subdomain")
        return found + check(new)

    return validate_update


def validate_update_again(new: Obj, old: Obj) -> list[FieldError]:
    """The checks that built-in kinds repeat on an update, after `validate_update`."""
    found = [] if same(new, old) else _changes(new, old, "metadata")
    finalizers = new.get("finalizers")
    if finalizers:
        found += validate_finalizer_style(finalizers, "metadata.finalizers")
    return found


def same(new: Obj, old: Obj) -> bool:
    """Whether a write leaves metadata unchanged, apart from fields that the server itself updates there."""
    return {**new, **_MARKS} == {**old, **_MARKS}


_MARKS: Final[Obj] = dict.fromkeys(("managedFields", "resourceVersion"))


def _changes(new: Obj, old: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if "deletionTimestamp" in old:
        extra = set(new.get("finalizers") or ()).difference(old.get("finalizers") or ())
        if extra:
            listed = ", ".join(field.quoted(f) for f in sorted(extra))
            found.append(
                field.forbidden(
                    f"{path}.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{listed}}}",
                )
            )
    if new.get("generation", 0) < old.get("generation", 0):
        found.append(field.invalid(f"{path}.generation", new.get("generation", 0), "must not be decremented"))
    for key, absent in _FIXED:
        value = new.get(key, absent)
        if value != old.get(key, absent):
            found.append(field.invalid(f"{path}.{key}", value, field.IMMUTABLE))
    return found + _parts(new, path, old)


_FIXED: Final[Sequence[tuple[str, Any]]] = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)
"""Fields that no update may change, with the value Kubernetes prints when one is missing."""


def _parts(meta: Obj, path: str, old: Obj | None) -> list[FieldError]:
    """Labels, annotations and owner references, which every check of metadata covers."""
    found: list[FieldError] = []
    for key, check in _PARTS:
        part = meta.get(key)
        if part and (old is None or part != old.get(key)):
            found += check(part, f"{path}.{key}")
    return found


def validate_labels(labels: Mapping[str, str] | None, path: str) -> list[FieldError]:
    """Checks keys and values; every problem is reported for the map as a whole."""
    found: list[FieldError] = []
    for key, value in (labels or {}).items():
        if label_syntax.is_qualified_name(key) and label_syntax.is_label_value(value):
            continue
        if len(found) > field.MAX_LISTED:
            break
        found += [field.invalid(path, key, text) for text in label_syntax.qualified_name(key)]
        found += [field.invalid(path, value, text) for text in label_syntax.label_value(value)]
    return found


def validate_annotations(annotations: Mapping[str, str] | None, path: str) -> list[FieldError]:
    """Checks keys like those of labels, capitals allowed, and the size of all: at most 256 KiB."""
    found: list[FieldError] = []
    size = 0
    for key, value in (annotations or {}).items():
        if len(found) <= field.MAX_LISTED and not label_syntax.is_qualified_name(key.lower()):
            found += [field.invalid(path, key, text) for text in label_syntax.qualified_name(key.lower())]
        size += len(key) + (len(value) if value.isascii() else len(value.encode()))
    if size > MAX_ANNOTATIONS_BYTES:
        found.append(field.too_long(path, MAX_ANNOTATIONS_BYTES))
    return found


def validate_label_selector(
    selector: Obj | None, path: str, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    """Checks the structured form (`matchLabels`, `matchExpressions`). `allow_invalid_values` skips the values
    of expressions, for fields where old objects may have invalid ones."""
    if not selector:
        return []
    found = validate_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for i, term in enumerate(selector.get("matchExpressions") or ()):
        found += validate_requirement(
            term, f"{path}.matchExpressions[{i}]", allow_invalid_values=allow_invalid_values
        )
    return found


def validate_requirement(term: Obj, path: str, *, allow_invalid_values: bool = False) -> list[FieldError]:
    """Checks one entry of `matchExpressions`."""
    found: list[FieldError] = []
    operator, values = term.get("operator", ""), term.get("values") or ()
    if operator in _SELECTOR_VALUES_NEEDED:
        if not values:
            found.append(
                field.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
            )
    elif operator in _SELECTOR_VALUES_FORBIDDEN:
        if values:
            found.append(
                field.forbidden(
                    f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                )
            )
    else:
        found.append(field.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = term.get("key", "")
    found += [field.invalid(f"{path}.key", key, text) for text in label_syntax.qualified_name(key)]
    if not allow_invalid_values:
        for i, value in enumerate(values):
            found += [field.invalid(f"{path}.values[{i}]", value, t) for t in label_syntax.label_value(value)]
    return found


def validate_owner_references(owners: Sequence[Obj], path: str) -> list[FieldError]:
    """Checks that references are complete, none is to an Event, and at most one is the controller."""
    found: list[FieldError] = []
    controller = ""
    all_shown: list[Obj] | None = None
    for ref in owners:
        version, kind = ref.get("apiVersion", ""), ref.get("kind", "")
        name, uid = ref.get("name", ""), ref.get("uid", "")
        # With two slashes the version cannot be read at all, and Kubernetes takes it as missing.
        if version.count("/") > 1 or not version.rpartition("/")[2]:
            found.append(field.invalid(f"{path}.apiVersion", version, "version must not be empty"))
        if not kind:
            found.append(field.invalid(f"{path}.kind", kind, "must not be empty"))
        if not name:
            found.append(field.invalid(f"{path}.name", name, "must not be empty"))
        if not uid:
            found.append(field.invalid(f"{path}.uid", uid, "must not be empty"))
        if version == "v1" and kind == "Event":
            found.append(
                field.invalid(path, _owner(ref), "/v1, Kind=Event is disallowed from being an owner")
            )
        if ref.get("controller"):
            this = f"{kind}/{name}"
            if controller:
                if all_shown is None:
                    all_shown = [_owner(r) for r in owners]
                found.append(
                    field.invalid(
                        path,
                        all_shown,
                        'Only one reference can have Controller set to true. Found "true" in references for '
                        f"{controller} and {this}",
                    )
                )
            else:
                controller = this
    return found


def _owner(ref: Obj) -> Obj:
    """A reference with its fields in Kubernetes' order of printing. Required fields are always there."""
    shown = {key: ref.get(key, "") for key in ("apiVersion", "kind", "name", "uid")}
    return shown | {key: ref[key] for key in ("controller", "blockOwnerDeletion") if ref.get(key) is not None}


def validate_finalizers(finalizers: Sequence[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in finalizers:
        if len(found) > field.MAX_LISTED:
            break
        found += [field.invalid(path, name, text) for text in label_syntax.qualified_name(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        found.append(
            field.invalid(
                path, list(finalizers), "finalizer orphan and foregroundDeletion cannot be both set"
            )
        )
    return found


def validate_finalizer_style(finalizers: Iterable[str], path: str) -> list[FieldError]:
    """Checks that a finalizer without a slash is one of Kubernetes' own."""
    return [
        field.invalid(
            f"{path}[{i}]", name, "name is neither a standard finalizer name nor is it fully qualified"
        )
        for i, name in enumerate(finalizers)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def finalizer_warnings(new: Obj, old: Obj | None = None) -> list[str]:
    """Warnings that custom resources get instead of a refusal, for finalizers that this write adds."""
    added = set(new.get("finalizers") or ())
    if old is not None:
        added.difference_update(old.get("finalizers") or ())
    return [
        f"metadata.finalizers: {field.quoted(name)}: prefer a domain-qualified finalizer name including a "
        "path (/) to avoid accidental conflicts with other finalizer writers"
        for name in sorted(added)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def drop_duplicate_owners(meta: Obj) -> list[str]:
    """Removes duplicate owner references in place; returns the warning about them."""
    owners = meta.get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept: list[Obj] = []
    seen: set[frozenset[tuple[str, Any]]] = set()
    dropped: list[str] = []
    for ref in owners:
        mark = frozenset(ref.items())
        if mark in seen:
            dropped.append(ref.get("uid", ""))
        else:
            seen.add(mark)
            kept.append(ref)
    if not dropped:
        return []
    meta["ownerReferences"] = kept
    return [
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; "
        f"duplicate UID(s) observed: {', '.join(dropped)}"
    ]


_PARTS: Final[Sequence[tuple[str, Callable[[Any, str], list[FieldError]]]]] = (
    ("labels", validate_labels),
    ("annotations", validate_annotations),
    ("ownerReferences", validate_owner_references),
)
