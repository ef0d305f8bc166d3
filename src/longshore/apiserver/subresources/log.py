"""pods/log: chooses the container and reads the options. The node provides the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from longshore.api import errors, field
from longshore.api.container_streams import LogOptions
from longshore.api.facts import own_names
from longshore.api.time import rfc3339
from longshore.apiserver.answer import LogAnswer
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.options import integer, truth
from longshore.apiserver.subresources.connect import choose_container, door_to, pod_of

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_STREAMS: Final = ("All", "Stderr", "Stdout")


async def log(api: Api, call: Call) -> LogAnswer:
    """Opens the log; a pod without a node has no log yet and is answered with 204."""
    problems = _problems(call)
    pod = pod_of(api, call)
    if problems:
        raise errors.invalid("", "PodLogOptions", call.name, problems)
    container = choose_container(pod, call.one("container"))
    if not (pod.get("spec") or {}).get("nodeName"):
        return LogAnswer(None)
    return LogAnswer(await door_to(api, pod).logs(pod, container, _options(call)))


def _options(call: Call) -> LogOptions:
    since = call.one("sinceTime")
    return LogOptions(
        follow=truth(call.one("follow")),
        previous=truth(call.one("previous")),
        attempt=integer(call.one(own_names.LOG_ATTEMPT)),
        since_seconds=integer(call.one("sinceSeconds")),
        since_time=rfc3339.parse(since) if since else None,
        timestamps=truth(call.one("timestamps")),
        tail_lines=integer(call.one("tailLines")),
        limit_bytes=integer(call.one("limitBytes")),
        stream=cast(Literal["All", "Stdout", "Stderr"], call.one("stream") or "All"),
    )


def _problems(call: Call) -> list[field.FieldError]:
    found: list[field.FieldError] = []
    tail, limit = integer(call.one("tailLines")), integer(call.one("limitBytes"))
    if tail is not None and tail < 0:
        found.append(field.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        found.append(field.invalid("limitBytes", limit, "must be greater than 0"))
    seconds, since = integer(call.one("sinceSeconds")), call.one("sinceTime")
    if seconds is not None and since:
        text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        found.append(field.forbidden("[]", text))
    elif seconds is not None and seconds < 1:
        found.append(field.invalid("sinceSeconds", seconds, "must be greater than 0"))
    if since:
        _check_time(since)
    stream = call.one("stream") or "All"
    if stream not in _STREAMS:
        found.append(field.not_supported("stream", stream, _STREAMS))
    elif stream != "All" and tail is not None:
        text = "`tailLines` and specific `stream` are mutually exclusive for now"
        found.append(field.forbidden("[]", text))
    return found


def _check_time(text: str) -> None:
    try:
        rfc3339.parse(text)
    except ValueError as bad:
        raise errors.bad_request(str(bad)) from None
