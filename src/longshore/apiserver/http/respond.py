"""The last step of a request: the answer in the form the client asked for, with its headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from longshore.api import codec, errors
from longshore.api.types import Obj, decode, encode
from longshore.apiserver import tables
from longshore.apiserver.answer import Answer, DocumentAnswer, ListAnswer, Rendered, served
from longshore.apiserver.documents import metadata_only
from longshore.apiserver.documents.document import Document
from longshore.apiserver.http import render
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import NO_CACHE, NOSNIFF, Fields, Reply
from longshore.apiserver.request import negotiate, router
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.negotiate import Output

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_WARNINGS_CHARACTERS: Final = 4096
"""Characters of all warnings of an answer, as upstream. If they have more, each is cut, and the last ones are
left out."""
_WARNING_CHARACTERS: Final = 256
"""Characters of each warning that is cut, as upstream."""
_MAX_WARNINGS: Final = 32
"""Warning headers of an answer. Python's http.client reads no answer with more than 100 headers."""
_CREATE_ONLY: Final = ("create",)
"""The verbs of reviews and bindings. Their answers are no objects, so they have no table."""
_ANY: Final = Output("application/json")
_LARGE_ENTRIES: Final = 256
_LARGE_BYTES: Final = 1 << 17
"""Bytes of an answer that takes 30 ms to render as YAML, protobuf or Table. Plain JSON is sent as stored."""


def choose(request: Request, call: Call, *, streaming: bool = False) -> Output:
    """The output form for this request; raises 406 if none of the wanted ones is offered.

    A table that cannot be made is refused here, too, since a failed request must not write. A request that
    becomes a connection has no output form; its Accept header is ignored.
    """
    if call.subresource in router.CONNECTS:
        return _ANY
    output = negotiate.choose(
        request.headers.get("accept"),
        streaming=streaming,
        custom=call.resource.style == "custom",
        transforms=call.subresource in ("", "status") and call.resource.verbs != _CREATE_ONLY,
        collection=call.verb in ("list", "deletecollection", "watch"),
    )
    if output.transform == "Table":
        tables.include_of(call.one("includeObject"))
    return output


def reply(request: Request, api: Api, call: Call, output: Output, found: Rendered) -> Reply:
    """The reply for an answer that has a body."""
    body = _body(request, api, call, output, found)
    return Reply(found.code, output.media_type, body, warning_headers(call.warnings) if call.warnings else ())


def takes_long(request: Request, call: Call, output: Output, found: Rendered) -> bool:
    """Whether an answer is large, and has to be made object by object."""
    if isinstance(found, DocumentAnswer) or _plain(request, call, output):
        return False
    if isinstance(found, ListAnswer):
        return len(found.entries) > _LARGE_ENTRIES or sum(len(e.raw) for e in found.entries) > _LARGE_BYTES
    return found.entry is not None and len(found.entry.raw) > _LARGE_BYTES


def _body(request: Request, api: Api, call: Call, output: Output, found: Rendered) -> bytes:
    plain = _plain(request, call, output)
    if plain and isinstance(found, ListAnswer):
        return render.list_json(found)
    if plain and isinstance(found, Answer):
        return render.object_json(found.resource, found.raw()) + b"\n"
    if output.media_type == negotiate.PROTOBUF and not output.transform:
        if isinstance(found, ListAnswer):
            return render.list_protobuf(found)
        if isinstance(found, Answer) and found.entry is not None and found.obj is None:
            return render.protobuf_of(api).entry(found.resource, found.entry)
    document = _document(api, call, output, found)
    if output.media_type == "application/yaml":
        return codec.encode_yaml(document)
    if output.media_type == negotiate.PROTOBUF:
        return codec.encode_document(document)
    return _indented(document) if _pretty(request, call) else _line(document)


def _document(api: Api, call: Call, output: Output, found: Rendered) -> Obj:
    """The answer as one JSON document, in the asked-for transform."""
    if isinstance(found, DocumentAnswer):
        return found.document
    if isinstance(found, Answer):
        if not output.transform:
            return render.with_type(found.resource, found.view())
        metadata_only.check(output.transform, found.resource, is_list=False)
        obj = found.view()
        if output.transform == "Table":
            meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return _table(api, call, output, [obj], meta)
        return metadata_only.item(obj, output.group_version)
    if not output.transform:
        loaded: Obj = decode(render.list_json(found))
        return loaded
    metadata_only.check(output.transform, found.resource, is_list=True)
    objs = [served(found.resource, e.obj) for e in found.entries]
    if output.transform == "Table":
        return _table(api, call, output, objs, found.metadata())
    return metadata_only.items(objs, found.metadata(), output.group_version)


def _table(api: Api, call: Call, output: Output, objs: list[Obj], metadata: Obj) -> Obj:
    include = tables.include_of(call.one("includeObject"))
    return tables.table(
        call.resource, objs, metadata, include, api.instant(), group_version=output.group_version
    )


def _plain(request: Request, call: Call, output: Output) -> bool:
    return not output.transform and output.media_type == "application/json" and not _pretty(request, call)


def _pretty(request: Request, call: Call) -> bool:
    return negotiate.is_pretty(call.one("pretty"), request.headers.get("user-agent", ""))


def _line(document: Obj) -> bytes:
    """Compact JSON with a line end, as upstream's encoder writes it and `kubectl get --raw` shows it."""
    return encode(document) + b"\n"


def _indented(document: Any) -> bytes:
    return msgspec.json.format(encode(document), indent=2)


def failure(request: Request, problem: errors.StatusError, warnings: list[str]) -> Reply:
    """The Status of an error, in YAML for a client that wants nothing else."""
    status = problem.status()
    if negotiate.prefers_yaml(request.headers.get("accept")):
        body, media_type = codec.encode_yaml(status), "application/yaml"
    else:
        body, media_type = _line(status), "application/json"
    headers = (*warning_headers(warnings), *problem.headers.items())
    if problem.retry_after is not None:
        headers += (("Retry-After", str(problem.retry_after)),)
    return Reply(problem.code, media_type, body, headers)


def warning_headers(warnings: list[str]) -> Fields:
    """`Warning:` headers, each text once. Their total size is limited as upstream's, and their number so that
    every client reads them. The last header counts those that are left out."""
    longest = None if sum(map(len, warnings)) <= _WARNINGS_CHARACTERS else _WARNING_CHARACTERS
    texts, spent = [*dict.fromkeys(warnings)], 0
    headers: list[tuple[str, str]] = []
    for text in texts:
        if spent >= _WARNINGS_CHARACTERS or len(headers) == _MAX_WARNINGS - 1 < len(texts) - 1:
            headers.append(_warning(f"and {len(texts) - len(headers)} more warnings"))
            break
        spent += len(text[:longest])
        headers.append(_warning(text[:longest]))
    return tuple(headers)


def _warning(text: str) -> tuple[str, str]:
    clean = text.replace("\\", "\\\\").replace('"', '\\"')
    return "Warning", f'299 - "{"".join(c if c.isprintable() else " " for c in clean)}"'


def document(request: Request, found: Document, output: Output | None = None) -> Reply:
    """The reply with a document about the server; 304 for a client that has it already."""
    fields = {"Vary": "Accept", **found.headers, "ETag": found.etag}
    caching = fields.pop("Cache-Control", NO_CACHE)
    headers = tuple(fields.items())
    if found.unchanged(request.headers.get("if-none-match")):
        return Reply(304, "", b"", headers, caching)
    if output is not None and output.media_type == "application/yaml":
        return Reply(200, "application/yaml", codec.encode_yaml(found.obj), headers, caching)
    return Reply(200, found.content_type, found.body, headers, caching)


def text(code: int, body: str) -> Reply:
    """A plain-text answer: health, metrics, unknown paths."""
    return Reply(code, "text/plain; charset=utf-8", body.encode(), NOSNIFF)
