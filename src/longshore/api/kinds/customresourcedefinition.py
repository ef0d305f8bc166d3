"""CustomResourceDefinitions as objects: defaults, checks, and what deletion does to them.

Which names a definition gets, and when its kinds are served, depends on the other definitions, so
`apiserver/crd/` decides it.
"""

from __future__ import annotations

from typing import Any, Final

from longshore.api.defaults import fill
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy, keep_spec
from longshore.api.types import Obj
from longshore.api.validation import customresourcedefinition as validation
from longshore.api.validation import metadata

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until all its objects are gone."""

_CEL: Final = "x-kubernetes-validations"


def _default(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if kind := names.get("kind"):
        fill(names, singular=kind.lower(), listKind=f"{kind}List")
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def _prepare_create(obj: Obj, ctx: Context) -> None:
    obj["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": [v["name"] for v in _versions(obj) if v.get("storage")],
    }


def _prepare_update(new: Obj, old: Obj) -> None:
    status = dict(old["status"])
    stored = status.get("storedVersions") or ()
    used = [v["name"] for v in _versions(new) if v.get("storage")]
    new["status"] = {**status, "storedVersions": list(dict.fromkeys([*stored, *used]))}


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    again = metadata.validate_update_again(new["metadata"], old["metadata"])
    return again + validation.validate_update(new, old)


def _prepare_status(new: Obj, old: Obj, ctx: Context) -> None:
    keep_spec(new, old)
    managed = new["metadata"].get("managedFields")
    new["metadata"] = {**old["metadata"]}
    if managed is not None:
        new["metadata"]["managedFields"] = managed


def _begin_deletion(obj: Obj) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if CLEANUP not in finalizers:
        finalizers.append(CLEANUP)


def _holds(obj: Obj) -> bool:
    """Whether the definition must stay: the first delete only marks it, since its objects go first."""
    return "deletionTimestamp" not in obj["metadata"]


def _versions(crd: Obj) -> list[Obj]:
    found: list[Obj] = crd.get("spec", {}).get("versions") or []
    return found


def _warnings(crd: Obj) -> list[str]:
    """Warnings about parts of a definition that longshore ignores, and about unknown formats."""
    from longshore.api.structural import formats

    out: list[str] = []
    for index, version in enumerate(_versions(crd)):
        schema = validation.schema_of(version)
        if schema is None:
            continue
        out += [f'unrecognized format "{name}"' for name in sorted(set(formats.unknown(schema)))]
        if _has_cel_rules(schema):
            where = f"spec.versions[{index}].schema"
            out.append(f"{where}: rules in {_CEL} are kept but not evaluated by longshore")
    if crd["spec"].get("conversion", {}).get("strategy") == "Webhook":
        out.append(
            "spec.conversion: longshore calls no webhooks; all versions show objects as they are stored"
        )
    return out


def _has_cel_rules(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_has_cel_rules, schema))
    if not isinstance(schema, dict):
        return False
    values = (inner for key, inner in schema.items() if key not in ("default", "enum", "example"))
    return bool(schema.get(_CEL)) or any(map(_has_cel_rules, values))


STRATEGY: Final = Strategy(
    marks_grace=False,
    unconditional_update=False,
    default=_default,
    prepare_create=_prepare_create,
    validate_create=validation.validate_create,
    warnings_create=_warnings,
    prepare_update=_prepare_update,
    validate_update=_validate_update,
    warnings_update=lambda new, old: _warnings(new) if new.get("spec") != old.get("spec") else [],
    prepare_status=_prepare_status,
    validate_status=lambda new, old: validation.validate_status(new),
    begin_deletion=_begin_deletion,
    holds=_holds,
)
"""Hooks of apiextensions.k8s.io/v1."""
