"""The door for tests in other languages: all functions of the fixture over HTTP, below `/testing/`.

`OPERATIONS` lists the requests; `GET /testing/openapi.json` describes them for generators of clients. Bodies
are strict: an unknown field or a wrong type is a 400 that names it. A wait that fails is a 409 with its
story.

Only in `longshore up --scripted`, and only for the administrator: never in a normal `up`. Each request runs
in a thread of its own, as a test's thread would.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import yaml

from longshore import __version__
from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.apiserver.http.begun import Ready
from longshore.apiserver.http.response import Reply
from longshore.scripts import script_documents
from longshore.scripts.runs import Exec
from longshore.scripts.script_documents import Script
from longshore.testing import door_bodies as bodies
from longshore.testing.cluster_for_tests import Cluster
from longshore.testing.held_loop import HeldLoop
from longshore.testing.settings import ClusterSettings

if TYPE_CHECKING:
    from longshore.apiserver.http.request import Request
    from longshore.apiserver.request.call import User

PREFIX: Final = "/testing/"
_ADMINISTRATORS: Final = "system:masters"
_OPENAPI: Final = "openapi.json"


class Operation(NamedTuple):
    """One request. `run` gets the door, the body and the name in the path."""

    method: str
    path: str
    body: type[Any]
    says: str
    run: Callable[[LanguageDoor, Any, str], Any]


class LanguageDoor:
    """Answers requests for one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.snapshots: list[Any] = []

    async def answer(self, request: Request, user: User) -> Ready:
        """Carries out a request, and returns the answer."""
        if _ADMINISTRATORS not in user.groups:
            return _reply(403, {"message": "only the administrator may use /testing/"})
        path = request.target.partition("?")[0].removeprefix(PREFIX)
        try:
            if (request.method, path) == ("GET", _OPENAPI):
                return _reply(200, openapi())
            operation, name = _found(request.method, path)
            given = msgspec.json.decode(request.body or b"{}", type=operation.body)
            return _reply(200, await _in_thread(lambda: operation.run(self, given, name)))
        except (ValueError, TypeError) as err:
            return _reply(400, {"message": str(err)})
        except (AssertionError, RuntimeError) as err:
            return _reply(409, {"message": str(err)})
        except StatusError as err:
            return _reply(err.code, err.status())
        except Exception as err:  # of a script function of the test
            return _reply(500, {"message": repr(err)})

    # ---- what takes more than a line

    def now(self) -> Any:
        return {"now": self.cluster.clock.now().isoformat()}

    def add_rule(self, given: Any) -> None:
        rule = script_documents.rule_of(given)
        self.cluster.loop.call(lambda: self.cluster.inside.scripts.add(rule))

    def flow(self, speed: float) -> None:
        if speed < 0:
            raise ValueError(f"speed {speed}: it must be 0 or more")
        loop = self.cluster.loop.loop
        if not isinstance(loop, HeldLoop):
            raise ValueError("this cluster is on the real clock, which flows by itself")
        self.cluster.loop.call(lambda: loop.flow(speed))

    def exec(self, given: bodies.Command) -> None:
        answer = Exec(given.code, given.output, given.seconds, given.reads_input, given.ends)
        where = {"namespace": given.namespace, "labels": given.labels, "container": given.container}
        self.cluster.pods.exec(given.name, answer, command=given.command, **where)

    def take_snapshot(self) -> Any:
        self.snapshots.append(self.cluster.snapshot())
        return {"id": len(self.snapshots)}

    def restore(self, number: int) -> None:
        if not 1 <= number <= len(self.snapshots):
            raise ValueError(f"there is no snapshot {number}; there are {len(self.snapshots)}")
        self.cluster.restore(self.snapshots[number - 1])

    def requests(self) -> Any:
        return [
            {
                "method": each.method,
                "path": each.path,
                "query": each.query,
                "body": each.body,
                "code": each.code,
                "userAgent": each.user_agent,
            }
            for each in self.cluster.requests
        ]

    def wait(self, given: bodies.Wait) -> Any:
        return self.cluster.wait(given.object, given.condition, given.timeout, namespace=given.namespace)


def _then_now(move: Callable[[LanguageDoor, Any], object]) -> Callable[[LanguageDoor, Any, str], Any]:
    """Moves the clock, and returns the time."""

    def run(door: LanguageDoor, given: Any, name: str) -> Any:
        move(door, given)
        return door.now()

    return run


def _fault(name: str, body: type[Any], says: str) -> Operation:
    def run(door: LanguageDoor, given: Any, _: str) -> None:
        getattr(door.cluster.faults, name)(**msgspec.structs.asdict(given))

    return Operation("POST", f"faults/{name}", body, says, run)


def _by_hand(name: str, body: type[Any], says: str) -> Operation:
    def run(door: LanguageDoor, given: Any, pod: str) -> None:
        getattr(door.cluster.pods[pod], name)(**msgspec.structs.asdict(given))

    return Operation("POST", f"pods/{{name}}/{name}", body, says, run)


OPERATIONS: Final = (
    Operation("GET", "clock", bodies.Empty, "returns the time", lambda d, g, _: d.now()),
    Operation("POST", "clock/advance", bodies.Advance, "lets time pass",
              _then_now(lambda d, g: d.cluster.clock.advance(g.duration))),
    Operation("POST", "clock/advance_to", bodies.Moment, "lets time pass up to a moment",
              _then_now(lambda d, g: d.cluster.clock.advance_to(g.moment, g.zone))),
    Operation("POST", "clock/until", bodies.Until, "lets time pass until an object is so far; 409: why not",
              _then_now(lambda d, g: d.cluster.clock.until(g.what, g.at_most, namespace=g.namespace))),
    Operation("POST", "clock/set", bodies.Moment, "sets the clock",
              _then_now(lambda d, g: d.cluster.clock.set(g.moment, g.zone))),
    Operation("POST", "clock/flow", bodies.Flow, "lets time flow from now on",
              _then_now(lambda d, g: d.flow(g.speed))),
    Operation("POST", "script", dict[str, Any], "adds a rule, as in a script file",
              lambda d, g, _: d.add_rule(g)),
    Operation("DELETE", "script", bodies.Empty, "forgets all rules",
              lambda d, g, _: d.cluster.loop.call(d.cluster.inside.scripts.clear)),
    Operation("POST", "exec", bodies.Command, "says how commands in pods go", lambda d, g, _: d.exec(g)),
    Operation("POST", "wait", bodies.Wait, "waits, and returns the object; 409: why not",
              lambda d, g, _: d.wait(g)),
    Operation("POST", "why", bodies.Object, "tells the story of an object",
              lambda d, g, _: {"text": d.cluster.why(g.object, namespace=g.namespace)}),
    Operation("POST", "events", bodies.Object, "returns the events about an object, or all",
              lambda d, g, _: d.cluster.events(g.object, namespace=g.namespace)),
    Operation("GET", "summary", bodies.Empty, "tells everything, for a test that failed",
              lambda d, g, _: {"text": d.cluster.summary()}),
    Operation("GET", "requests", bodies.Empty, "returns the requests of clients",
              lambda d, g, _: d.requests()),
    Operation("DELETE", "requests", bodies.Empty, "forgets them",
              lambda d, g, _: d.cluster.requests.clear()),
    Operation("POST", "check", bodies.Empty, "checks all promises; 409 with what is broken",
              lambda d, g, _: d.cluster.assert_consistent()),
    Operation("GET", "unused", bodies.Empty, "names scripts, answers and faults that never met anything",
              lambda d, g, _: d.cluster.unused()),
    Operation("POST", "snapshot", bodies.Empty, "takes a snapshot, and returns its id",
              lambda d, g, _: d.take_snapshot()),
    Operation("POST", "restore", bodies.Snapshot, "goes back to it; cuts all connections, this one too",
              lambda d, g, _: d.restore(g.id)),
    Operation("POST", "answers", bodies.Answer, "adds an answer by hand",
              lambda d, g, _: _done(d.cluster.answers.on(g.on, **_but(g, "on")))),
    Operation("DELETE", "answers", bodies.Empty, "removes them", lambda d, g, _: d.cluster.answers.clear()),
    _fault("conflict", bodies.Conflict, "adds conflicts"),
    _fault("unavailable", bodies.Unavailable, "answers 503 for a while"),
    _fault("throttle", bodies.Throttle, "refuses, and says when to come again"),
    _fault("slow", bodies.Slow, "makes requests slow"),
    _fault("drop_watch", bodies.Whose, "cuts all watches"),
    _fault("compact", bodies.Whose, "forgets the history, for 410"),
    _fault("crash_controllers", bodies.Empty, "lets the controllers crash and start again"),
    _fault("restart", bodies.Empty, "restarts the server; cuts all connections, this one too"),
    _fault("clear", bodies.Empty, "removes all faults"),
    _by_hand("succeed", bodies.Empty, "ends a pod well; `{name}` or `{namespace}/{name}`"),
    _by_hand("fail", bodies.Fail, "ends it with a code"),
    _by_hand("oom", bodies.Empty, "ends it for lack of memory"),
    _by_hand("evict", bodies.Empty, "evicts it"),
    _by_hand("crash_node", bodies.CrashNode, "lets its node crash"),
)  # fmt: skip
"""All requests, with the path below `/testing/`."""


def openapi() -> dict[str, Any]:
    """The OpenAPI document of the door."""
    kinds = [each.body for each in OPERATIONS if _has_fields(each.body)]
    _, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for each in OPERATIONS:
        done: dict[str, Any] = {
            "summary": each.says,
            "operationId": re.sub(r"\W+", "_", f"{each.method.lower()}_{each.path}").strip("_"),
            "responses": {
                "200": {"description": "Done.", "content": {"application/json": {"schema": {}}}},
                "400": {"description": "A mistake in the request, with its name."},
                "409": {"description": "The cluster cannot, or the wait failed, with the story."},
            },
        }
        if each.body is not bodies.Empty:
            named = _has_fields(each.body)
            schema = {"$ref": f"#/components/schemas/{each.body.__name__}"} if named else {"type": "object"}
            done["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        if "{name}" in each.path:
            parameter = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
            done["parameters"] = [parameter]
        paths.setdefault(f"{PREFIX}{each.path}", {})[each.method.lower()] = done
    return {
        "openapi": "3.1.0",
        "info": {"title": "longshore: the door for tests", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _has_fields(body: type[Any]) -> bool:
    """Whether a body has its own fields, and not those of a script file."""
    return isinstance(body, type) and issubclass(body, msgspec.Struct)


def _found(method: str, path: str) -> tuple[Operation, str]:
    for each in OPERATIONS:
        pattern = re.escape(each.path).replace(r"\{name\}", "(.+)")
        if each.method == method and (match := re.fullmatch(pattern, path)):
            return each, match[1] if match.groups() else ""
    raise errors.not_found("", "paths", f"{PREFIX}{path}")


def _but(given: Any, field: str) -> dict[str, Any]:
    return {key: value for key, value in msgspec.structs.asdict(given).items() if key != field}


def _done(result: object) -> None:
    """Drops a result that cannot be a document."""


def _reply(code: int, document: Any) -> Ready:
    return Ready(
        Reply(code, "application/json", json.dumps(document if document is not None else {}).encode())
    )


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Runs blocking work in a thread of its own: time does not pass while the loop's own pool works."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, problem: BaseException | None) -> None:
        if done.done():
            return
        if problem is not None:
            done.set_exception(problem)
        else:
            done.set_result(result)

    def run() -> None:
        try:
            result, problem = work(), None
        except Exception as err:  # the client gets the error
            result, problem = None, err
        loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=run, name="longshore door", daemon=True).start()
    return await done


# `longshore up --in-memory --scripted FILE`: a cluster for tests as a program, for tests in any language.


def run(file: Path, port: int, stopped: threading.Event) -> None:
    """Runs a cluster by this script until it is stopped. Raises ValueError, OSError or `CannotListen`."""
    settings, script = read(file)
    cluster = Cluster(**msgspec.structs.asdict(settings))
    cluster.start(port=port, door=True)
    try:
        cluster.loop.call(lambda: _follow(cluster, script))
        config = shlex.quote(str(cluster.kubeconfig))
        print(
            f"longshore {__version__} is ready at {cluster.url}; use it with: export KUBECONFIG={config}",
            flush=True,
        )
        time = "stands still until it is moved" if settings.clock == "virtual" else "is real"
        print(
            f"pods go as {file} says, time {time}; the door: {cluster.url}{PREFIX}",
            file=sys.stderr,
            flush=True,
        )
        stopped.wait()
    finally:
        cluster.close()


def read(file: Path) -> tuple[ClusterSettings, Script]:
    """Reads the settings of a cluster and its script. Raises ValueError with the field, the value and the
    rule, or OSError if the file cannot be read."""
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as err:
        raise ValueError(f"{file} is no YAML: {err}") from None
    return script_of(document)


def script_of(document: object) -> tuple[ClusterSettings, Script]:
    known = ClusterSettings.__struct_fields__
    found = script_documents.mapping(document, "the script", (*known, "default", "pods"))
    return ClusterSettings(**{key: found[key] for key in known if key in found}), script_documents.script_of(
        found
    )


def _follow(cluster: Cluster, script: Script) -> None:
    cluster.inside.scripts.rules.extend(script.rules)
    if script.default is not None:
        cluster.inside.scripts.default = script.default
