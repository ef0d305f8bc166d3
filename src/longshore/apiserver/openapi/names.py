"""Names in OpenAPI documents: of schemas, of operations, of tags.

Clients look kinds up by their group, version and kind, yet generated clients and people know the
names, so these are Kubernetes' own: `io.k8s.api.batch.v1.Job`, `readBatchV1NamespacedJob`, `batch_v1`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

SPECIALS: Final = {
    "Time": f"{_META}.Time",
    "MicroTime": f"{_META}.MicroTime",
    "Duration": f"{_META}.Duration",
    "FieldsV1": f"{_META}.FieldsV1",
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "RawExtension": "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "JSON": f"{_EXTENSIONS}.JSON",
    "JSONSchemaPropsOrArray": f"{_EXTENSIONS}.JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool": f"{_EXTENSIONS}.JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray": f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray",
}
SPECIAL_OF: Final = {name: special for special, name in SPECIALS.items()}
PATCH: Final = f"{_META}.Patch"
VERSION_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"


@lru_cache(maxsize=4096)
def of_message(message: str) -> str:
    """The schema name of a message id such as `batch/v1.JobSpec`."""
    package, _, rest = message.partition("/")
    match package:
        case "meta":
            return f"io.k8s.apimachinery.pkg.apis.meta.{rest}"
        case "apiextensions":
            return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{rest}"
    return f"io.k8s.api.{package}.{rest}"


def of_kind(group: str, version: str, kind: str) -> str:
    """The schema name of a custom resource: its group with the parts reversed, then version and kind."""
    return ".".join([*reversed(group.split(".")), version, kind])


def _words(group: str) -> list[str]:
    return (group.removesuffix(".k8s.io") or "core").split(".")


def title(group: str, version: str) -> str:
    """`BatchV1`, the middle of operation ids."""
    return "".join(w[:1].upper() + w[1:] for w in _words(group)) + version[:1].upper() + version[1:]


def tag(group: str, version: str) -> str:
    """`batch_v1`, `rbacAuthorization_v1`."""
    first, *others = _words(group)
    return f"{first}{''.join(w[:1].upper() + w[1:] for w in others)}_{version}"


def message_of(name: str) -> str:
    """The message id behind a schema name; the inverse of `of_message`."""
    for package in ("meta", "apiextensions"):
        prefix = of_message(f"{package}/")
        if name.startswith(prefix):
            return f"{package}/{name.removeprefix(prefix)}"
    package, _, rest = name.removeprefix("io.k8s.api.").partition(".")
    return f"{package}/{rest}"
