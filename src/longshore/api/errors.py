"""Errors of the API, each the `Status` object a client would get. One exception class for all.

The code and reason decide what a caller may do; the message is for people. `StatusError` is what
every layer raises, from a validator to the HTTP client, so a caller handles one type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from longshore.api import field
from longshore.api.types import Obj


class StatusError(Exception):
    """A request that failed, with the answer Kubernetes gives for it."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Obj | None = None,
        metadata: Obj | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata
        self.headers = headers or {}

    def status(self) -> Obj:
        """The `Status` object of this error."""
        out: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata or {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            out["reason"] = self.reason
        if self.details is not None:
            out["details"] = self.details
        out["code"] = self.code
        return out

    @classmethod
    def from_status(cls, status: Obj, code: int) -> StatusError:
        """The error a `Status` answer stands for."""
        said = status.get("code")
        return cls(
            said if said and isinstance(said, int) else code,
            status.get("reason") or "",
            status.get("message") or f"the server answered {code}",
            details=status.get("details"),
            metadata=status.get("metadata"),
        )

    def has_cause(self, reason: str) -> bool:
        """Whether `details.causes` names this reason, e.g. `NamespaceTerminating`."""
        return any(c.get("reason") == reason for c in (self.details or {}).get("causes") or ())

    @property
    def retry_after(self) -> int | None:
        """Seconds the server asked to wait before trying again; None when it did not ask."""
        seconds: int | None = (self.details or {}).get("retryAfterSeconds")
        return seconds


def _details(group: str, kind: str, name: str, **more: Any) -> Obj:
    out: Obj = {}
    if name:
        out["name"] = name
    if group:
        out["group"] = group
    if kind:
        out["kind"] = kind
    out.update(more)
    return out


def qualified(group: str, word: str) -> str:
    """The full name of a resource: `jobs.batch`, or plain `pods` in the core group."""
    return f"{word}.{group}" if group else word


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, name: str, why: str, causes: list[Obj] | None = None) -> StatusError:
    what = qualified(group, resource) + (f" {field.quoted(name)}" if name else "")
    more = {"causes": causes} if causes else {}
    return StatusError(
        403, "Forbidden", f"{what} is forbidden: {why}", details=_details(group, resource, name, **more)
    )


def not_found(group: str, resource: str, name: str) -> StatusError:
    return _about(404, "NotFound", group, resource, name, "not found")


def already_exists(group: str, resource: str, name: str) -> StatusError:
    return _about(409, "AlreadyExists", group, resource, name, "already exists")


def _about(code: int, reason: str, group: str, resource: str, name: str, what: str) -> StatusError:
    text = f"{qualified(group, resource)} {field.quoted(name)} {what}"
    return StatusError(code, reason, text, details=_details(group, resource, name))


def conflict(group: str, resource: str, name: str, why: str) -> StatusError:
    """A 409. `resource` is the plural, except for delete preconditions, where Kubernetes names the Kind."""
    return StatusError(
        409,
        "Conflict",
        f"Operation cannot be fulfilled on {qualified(group, resource)} {field.quoted(name)}: {why}",
        details=_details(group, resource, name),
    )


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


_MAX_CAUSES_CHARACTERS: Final = 1 << 16
"""Characters of all problems that one answer lists. The problem that reaches this limit is the last."""


def invalid(group: str, kind: str, name: str, problems: Sequence[field.FieldError]) -> StatusError:
    """A 422 that lists every problem once, as causes and in the message. If there are very many, it lists the
    first ones and says that there are more."""
    texts: dict[str, None] = {}
    causes: list[Obj] = []
    room = _MAX_CAUSES_CHARACTERS
    for problem in problems[: field.MAX_LISTED]:
        body = problem.body()
        texts[f"{problem.field}: {body}"] = None
        causes.append(_cause(problem, body))
        room -= len(problem.field) + len(body)
        if room < 0:
            break
    listed = list(texts)
    if len(causes) < len(problems):
        listed.append("and more")
    summary = listed[0] if len(listed) == 1 else "[" + ", ".join(listed) + "]"
    return StatusError(
        422,
        "Invalid",
        f"{qualified(group, kind)} {field.quoted(name)} is invalid: {summary}",
        details=_details(group, kind, name, causes=causes),
    )


def _cause(problem: field.FieldError, body: str) -> Obj:
    """The cause of a problem. A problem of the whole object (a ConfigMap that is too big) has no field."""
    cause = {"reason": problem.reason, "message": body}
    return {**cause, "field": problem.field} if problem.field else cause


def method_not_allowed() -> StatusError:
    return StatusError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def internal(message: str) -> StatusError:
    return StatusError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )


class tolerated:
    """`with tolerated(404):` leaves the block without an error if the server refused with one of these codes
    or reasons."""

    def __init__(self, *refusals: int | str) -> None:
        self._refusals = refusals

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: object) -> bool:
        return isinstance(err, StatusError) and (err.code in self._refusals or err.reason in self._refusals)
