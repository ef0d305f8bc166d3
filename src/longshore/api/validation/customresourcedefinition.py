"""Checks of CustomResourceDefinitions: names, versions, schemas, columns, conversion.

Kubernetes internally keeps parts that all versions share in one place, and its errors name that place: with
one version, or several equal ones, a schema is at `spec.validation.openAPIV3Schema`, else at
`spec.versions[0].schema.openAPIV3Schema`.
"""

from __future__ import annotations

from typing import Any, Final

from longshore.api import field, names
from longshore.api.field import FieldError
from longshore.api.types import Obj

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_APPROVAL: Final = "api-approved.kubernetes.io"
_APPROVAL_HELP: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_STILL_STORED: Final = (
    "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
    "until a storage migration ensures no data remains persisted in {name} and removes {name} from "
    "status.storedVersions"
)
_SHARED: Final = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""Parts that versions may share, each with its name in the definition if they do."""


def validate_create(crd: Obj) -> list[FieldError]:
    """Checks a new definition, with defaults filled in."""
    return _name(crd) + _spec(crd["spec"]) + _approval(crd) + _stored(crd)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    """Checks a changed definition like a new one, and that fixed fields have not changed."""
    found = _spec(new["spec"])
    spec, was = new["spec"], old["spec"]
    if is_true(old, "Established"):
        found += _immutable(spec.get("scope"), was.get("scope"), "spec.scope")
        found += _immutable(_named(spec, "kind"), _named(was, "kind"), "spec.names.kind")
    found += _immutable(spec.get("group"), was.get("group"), "spec.group")
    found += _immutable(_named(spec, "plural"), _named(was, "plural"), "spec.names.plural")
    return found + _approval(new) + _stored(new)


def validate_status(new: Obj) -> list[FieldError]:
    return _names((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def is_true(crd: Obj, condition: str) -> bool:
    """Whether a condition of a definition holds."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(c["type"] == condition and c["status"] == "True" for c in conditions)


def _immutable(new: Any, old: Any, path: str) -> list[FieldError]:
    return [] if new == old else [field.invalid(path, new, field.IMMUTABLE)]


def _named(spec: Obj, which: str) -> str:
    name: str = (spec.get("names") or {}).get(which, "")
    return name


def _name(crd: Obj) -> list[FieldError]:
    """Checks of the name that the registry does not make."""
    name = crd["metadata"].get("name", "")
    if name == f"{_named(crd['spec'], 'plural')}.{crd['spec'].get('group', '')}":
        return []
    return [field.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _approval(crd: Obj) -> list[FieldError]:
    """Checks that definitions in Kubernetes' own groups have an approval."""
    group = crd["spec"].get("group", "")
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return []
    value = (crd["metadata"].get("annotations") or {}).get(_APPROVAL, "")
    path = f"metadata.annotations[{_APPROVAL}]"
    text = f'protected groups must have approval annotation "{_APPROVAL}"'
    if not value:
        return [field.required(path, f"{text}, {_APPROVAL_HELP}")]
    if value.startswith(("unapproved", "http://", "https://")):
        return []
    how = 'with either a URL or a reason starting with "unapproved"'
    return [field.invalid(path, value, f"{text} {how}, {_APPROVAL_HELP}")]


def _stored(crd: Obj) -> list[FieldError]:
    """Checks that the stored versions exist, and that the current one is among them."""
    path = "status.storedVersions"
    stored = (crd.get("status") or {}).get("storedVersions") or []
    if not stored:
        return [field.invalid(path, stored, "must have at least one stored version")]
    versions = crd["spec"].get("versions") or ()
    kept = {*stored}
    found = [
        field.invalid(path, stored, f"must have the storage version {v.get('name')}")
        for v in versions
        if v.get("storage") and v.get("name") not in kept
    ]
    known = {v.get("name") for v in versions}
    gone = [(i, name) for i, name in enumerate(stored) if name not in known]
    return found + [field.invalid(f"{path}[{i}]", name, _STILL_STORED.format(name=name)) for i, name in gone]


def _spec(spec: Obj) -> list[FieldError]:
    group = spec.get("group", "")
    found: list[FieldError] = []
    if not group:
        found.append(field.required("spec.group"))
    elif wrong := names.dns1123_subdomain(group):
        found.append(field.invalid("spec.group", group, ",".join(wrong)))
    elif "." not in group:
        found.append(field.invalid("spec.group", group, "should be a domain with at least one dot"))
    found += field.chosen("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        found.append(field.invalid("spec.preserveUnknownFields", True, "must be false"))
    versions: list[Obj] = spec.get("versions") or []
    for index, version in enumerate(versions):
        if not schema_of(version):
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            found.append(field.required(path, "schemas are required"))
    shared = {
        word for word in _SHARED if versions and all(v.get(word) == versions[0].get(word) for v in versions)
    }
    for index, version in enumerate(versions):
        found += _version(version, f"spec.versions[{index}]", [w for w in _SHARED if w not in shared])
    found += _set_of_versions(versions)
    for word in ("plural", "singular", "kind", "listKind"):
        if not _named(spec, word):
            found.append(field.required(f"spec.names.{word}"))
    found += _names(spec.get("names") or {}, "spec.names")
    if versions:
        for word in _SHARED:
            if word in shared:
                found += _part(versions[0], word, f"spec.{_SHARED[word]}")
    return found + _conversion(spec.get("conversion") or {})


def schema_of(version: Obj) -> Obj | None:
    """The schema of one version of a definition."""
    schema: Obj | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _version(version: Obj, path: str, own: list[str]) -> list[FieldError]:
    name = version.get("name", "")
    found = [field.invalid(f"{path}.name", name, ",".join(w))] if (w := names.dns1035_label(name)) else []
    warning = version.get("deprecationWarning")
    if warning is not None:
        if not version.get("deprecated"):
            text = "can only be set for deprecated versions"
            found.append(field.invalid(f"{path}.deprecationWarning", warning, text))
        if len(warning) > 256:
            text = "must be <= 256 characters long"
            found.append(field.invalid(f"{path}.deprecationWarning", warning, text))
        elif not warning:
            text = "must not be an empty string"
            found.append(field.invalid(f"{path}.deprecationWarning", warning, text))
    for word in own:
        found += _part(version, word, f"{path}.{word}")
    return found


def _set_of_versions(versions: list[Obj]) -> list[FieldError]:
    found: list[FieldError] = []
    known = [v.get("name") for v in versions]
    if len(set(known)) != len(known):
        found.append(field.invalid("spec.versions", versions, "must contain unique version names"))
    if sum(bool(v.get("storage")) for v in versions) != 1:
        text = "must have exactly one version marked as storage version"
        found.append(field.invalid("spec.versions", versions, text))
    return found


def _names(names_: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for word in ("plural", "singular"):
        name = names_.get(word, "")
        if name and (wrong := names.dns1035_label(name)):
            found.append(field.invalid(f"{path}.{word}", name, ",".join(wrong)))
    for word in ("kind", "listKind"):
        name = names_.get(word, "")
        if name and (wrong := names.dns1035_label(name.lower())):
            text = "may have mixed case, but should otherwise match: " + ",".join(wrong)
            found.append(field.invalid(f"{path}.{word}", name, text))
    for index, name in enumerate(names_.get("shortNames") or ()):
        if wrong := names.dns1035_label(name):
            found.append(field.invalid(f"{path}.shortNames[{index}]", name, ",".join(wrong)))
    if names_.get("kind") and names_["kind"] == names_.get("listKind"):
        text = "kind and listKind may not be the same"
        found.append(field.invalid(f"{path}.listKind", names_["listKind"], text))
    for index, name in enumerate(names_.get("categories") or ()):
        if wrong := names.dns1035_label(name):
            found.append(field.invalid(f"{path}.categories[{index}]", name, ",".join(wrong)))
    return found


def _part(version: Obj, word: str, path: str) -> list[FieldError]:
    """Checks one part: of a version, or of all versions together."""
    match word:
        case "schema":
            return _schema(version, f"{path}.openAPIV3Schema")
        case "subresources":
            return _subresources(version.get("subresources") or {}, path)
        case "additionalPrinterColumns":
            columns = version.get("additionalPrinterColumns") or ()
            return [e for i, column in enumerate(columns) for e in _column(column, f"{path}[{i}]")]
    return _selectable(version.get("selectableFields") or [], path)


def _schema(version: Obj, path: str) -> list[FieldError]:
    # Definitions are rare; what reads their schemas is loaded with the first one.
    from longshore.api.structural import rules, structure

    schema = schema_of(version)
    if not schema:
        return []
    status = (version.get("subresources") or {}).get("status") is not None
    return rules.problems(schema, path, status=status) + structure.problems(schema, path)


def _subresources(subresources: Obj, path: str) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    found = _scale_path(scale, "specReplicasPath", (".spec.",), "should be a json path under .spec", path)
    found += _scale_path(
        scale, "statusReplicasPath", (".status.",), "should be a json path under .status", path
    )
    if scale.get("labelSelectorPath"):
        text = "should be a json path under either .spec or .status"
        found += _scale_path(scale, "labelSelectorPath", (".spec.", ".status."), text, path)
    return found


def _scale_path(scale: Obj, word: str, under: tuple[str, ...], text: str, path: str) -> list[FieldError]:
    value, where = scale.get(word, ""), f"{path}.scale.{word}"
    if not value:
        return [field.required(where)]
    if wrong := _simple_path(value, where):
        return wrong
    return [] if value.startswith(under) else [field.invalid(where, value, text)]


def _simple_path(value: str, path: str) -> list[FieldError]:
    if value.startswith("."):
        return []
    return [field.invalid(path, value, "must be a simple json path starting with .")]


def _column(column: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    found += field.missing(column, path, "name")
    kind, text = column.get("type", ""), f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        found.append(field.required(f"{path}.type", text))
    elif kind not in _COLUMN_TYPES:
        found.append(field.invalid(f"{path}.type", kind, text))
    form = column.get("format", "")
    if form and form not in _COLUMN_FORMATS:
        text = f"must be one of {','.join(_COLUMN_FORMATS)}"
        found.append(field.invalid(f"{path}.format", form, text))
    if not column.get("jsonPath"):
        found.append(field.required(f"{path}.jsonPath"))
    else:
        found += _simple_path(column["jsonPath"], f"{path}.jsonPath")
    return found


def _selectable(fields: list[Obj], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if len(fields) > 8:
        found.append(field.too_many(path, len(fields), 8))
    seen: set[str] = set()
    for index, own in enumerate(fields):
        value, where = own.get("jsonPath", ""), f"{path}[{index}].jsonPath"
        if not value:
            found.append(field.required(where))
        elif value.startswith(".metadata"):
            found.append(field.invalid(where, value, "must not point to fields in metadata"))
        else:
            found += _simple_path(value, where)
        if value in seen:
            found.append(field.duplicate(f"{path}[{index}].jsonPath", value))
        seen.add(value)
    return found


def _conversion(conversion: Obj) -> list[FieldError]:
    path = "spec.conversion"
    strategy = conversion.get("strategy", "")
    found = field.chosen(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook")
    if strategy == "Webhook":
        config = (webhook or {}).get("clientConfig")
        if config is None:
            text = "required when strategy is set to Webhook"
            found.append(field.required(f"{path}.webhookClientConfig", text))
        elif ("url" in config) == ("service" in config):
            text = "exactly one of url or service is required"
            found.append(field.required(f"{path}.webhookClientConfig", text))
        if not (webhook or {}).get("conversionReviewVersions"):
            found.append(field.required(f"{path}.conversionReviewVersions"))
    elif webhook is not None:
        text = "should not be set when strategy is not set to Webhook"
        found.append(field.forbidden(f"{path}.webhookClientConfig", text))
    return found
