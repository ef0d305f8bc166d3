"""DeleteOptions of DELETE requests: from the body, or from the query where there is no body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from longshore.api import codec, errors
from longshore.api.codec import DecodeError
from longshore.api.types import Obj
from longshore.apiserver.request import kind_names, options
from longshore.apiserver.request.body import NO_KIND, READ, format_of
from longshore.apiserver.request.kind_names import Kind

_OPTIONS: Final = Kind("meta.k8s.io", "v1", "DeleteOptions")
_USUAL_KINDS: Final = (("v1", "DeleteOptions"), ("", ""))
_SCHEME: Final = "pkg/apis/meta/internalversion/scheme/register.go:32"
_OTHER_KINDS: Final = frozenset(("CreateOptions", "UpdateOptions"))


def options_from(body: bytes, content_type: str | None, query: Mapping[str, Sequence[str]]) -> Obj:
    """DeleteOptions of a DELETE: from its body, or from the query when there is no body."""
    if not body:
        return _from_query(query)
    form = format_of(content_type)
    if form == "json":
        quick = codec.quick_json(body, "meta/v1.DeleteOptions")
        if quick is not None and (quick.api_version, quick.kind) in _USUAL_KINDS:
            return quick.obj
    try:
        document = READ[form](body)
        api_version, kind = document.interpret()
    except DecodeError as error:
        raise errors.bad_request(NO_KIND + str(error) if form == "json" else str(error)) from None
    found = kind_names.parse(api_version, kind)
    if found is None:
        raise errors.bad_request(f"unexpected GroupVersion string: {api_version}")
    found = found.with_defaults(_OPTIONS)
    if found.kind != _OPTIONS.kind:
        # The options of a delete may come in any group's name, but not as another kind.
        if found.kind in _OTHER_KINDS:
            raise errors.bad_request(
                f"converting (v1.{found.kind}) to (v1.DeleteOptions): unknown conversion"
            )
        raise errors.bad_request(kind_names.not_registered(found, _SCHEME))
    try:
        return document.decode("meta/v1.DeleteOptions").obj
    except DecodeError as error:
        raise errors.bad_request(str(error)) from None


def _from_query(query: Mapping[str, Sequence[str]]) -> Obj:
    out: Obj = {}
    if grace := query.get("gracePeriodSeconds"):
        out["gracePeriodSeconds"] = options.parse_int(grace[0])
    for name in ("orphanDependents", "ignoreStoreReadErrorWithClusterBreakingPotential"):
        if flag := query.get(name):
            out[name] = flag[0].lower() not in ("false", "0")
    if policy := query.get("propagationPolicy"):
        out["propagationPolicy"] = policy[0]
    if dry_run := query.get("dryRun"):
        out["dryRun"] = list(dry_run)
    if uid := query.get("uid"):
        out["preconditions"] = {"uid": uid[0]}
    return out
