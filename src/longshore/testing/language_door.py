"""The door for tests in other languages: scripts, clock and faults of a cluster over HTTP, below `/testing/`.

| request | does |
| --- | --- |
| `POST /testing/script` with a rule as in a script file | adds the rule |
| `DELETE /testing/script` | forgets all rules |
| `GET /testing/clock` | returns the time |
| `POST /testing/clock/advance` `{"duration": "1h"}` | lets time pass |
| `POST /testing/clock/set` `{"moment": "2027-03-28T00:30", "zone": "Europe/Berlin"}` | sets the clock |
| `POST /testing/wait` `{"object": "job/x", "condition": "Complete", "timeout": "1m"}` | waits; 409: why not |
| `POST /testing/faults/NAME` with the arguments of `c.faults.NAME` | adds the fault |
| `POST /testing/pods/NAME/succeed` (`fail`, `oom`, `evict`, `crash_node`) | does it; `{"code": 3}` for fail |
| `GET /testing/requests` | returns the requests of clients |
| `POST /testing/check` | `assert_consistent`; 409 with what is broken |

Only in `longshore up --scripted`, and only for the administrator: never in a normal `up`. Each request runs
in a thread of its own, as a test's thread would.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import yaml

from longshore import __version__
from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.apiserver.http.begun import Ready
from longshore.apiserver.http.response import Reply
from longshore.scripts import script_documents
from longshore.scripts.script_documents import Script
from longshore.testing.cluster_for_tests import Cluster
from longshore.testing.settings import Settings

if TYPE_CHECKING:
    from longshore.apiserver.http.request import Request
    from longshore.apiserver.request.call import User

PREFIX: Final = "/testing/"
_ADMINISTRATORS: Final = "system:masters"
_FAULTS: Final = (
    "clear", "compact", "conflict", "crash_controllers", "drop_watch", "restart", "slow", "throttle",
    "unavailable",
)  # fmt: skip
_BY_HAND: Final = ("crash_node", "evict", "fail", "oom", "succeed")


class LanguageDoor:
    """Answers requests for one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def answer(self, request: Request, user: User) -> Ready:
        """Does what the request asks for, and returns the answer."""
        if _ADMINISTRATORS not in user.groups:
            return _reply(403, {"message": "only the administrator may use /testing/"})
        path = request.target.partition("?")[0].removeprefix(PREFIX)
        try:
            given = json.loads(request.body or b"{}")
            work = self._work(request.method, path, given)
            return _reply(200, await _in_thread(work))
        except (ValueError, TypeError) as err:
            return _reply(400, {"message": str(err)})
        except (AssertionError, RuntimeError) as err:
            return _reply(409, {"message": str(err)})
        except StatusError as err:
            return _reply(err.code, err.status())

    def _work(self, method: str, path: str, given: Any) -> Callable[[], Any]:
        cluster = self._cluster
        match method, path.split("/"):
            case "POST", ["script"]:
                rule = script_documents.rule_of(given)
                return lambda: cluster.loop.call(lambda: cluster.inside.scripts.add(rule))
            case "DELETE", ["script"]:
                return lambda: cluster.loop.call(cluster.inside.scripts.clear)
            case "GET", ["clock"]:
                return lambda: _now(cluster.clock.now())
            case "POST", ["clock", "advance"]:
                return lambda: _now(cluster.clock.advance(given.get("duration", 0)))
            case "POST", ["clock", "set"]:
                return lambda: _now(cluster.clock.set(given.get("moment", ""), given.get("zone", "UTC")))
            case "POST", ["wait"]:
                return lambda: cluster.wait(
                    str(given.get("object", "")),
                    str(given.get("condition", "")),
                    given.get("timeout", "60s"),
                    namespace=given.get("namespace", "default"),
                )
            case "POST", ["check"]:
                return cluster.assert_consistent
            case "POST", ["faults", name] if name in _FAULTS:
                named = {("for_" if key == "for" else key): value for key, value in given.items()}
                return lambda: _done(getattr(cluster.faults, name)(**named))
            case "POST", ["pods", *pod, action] if pod and action in _BY_HAND:
                handle = cluster.pods["/".join(pod)]
                return lambda: _done(getattr(handle, action)(**given))
            case "GET", ["requests"]:
                return lambda: [
                    {
                        "method": each.method,
                        "path": each.path,
                        "code": each.code,
                        "userAgent": each.user_agent,
                    }
                    for each in cluster.requests
                ]
        raise errors.not_found("", "paths", f"{PREFIX}{path}")


def _now(moment: datetime) -> Any:
    return {"now": moment.isoformat()}


def _done(result: object) -> Any:
    return {}


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
        except Exception as err:  # told to the client
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


def read(file: Path) -> tuple[Settings, Script]:
    """Reads the settings of a cluster and its script. Raises ValueError with the field, the value and the
    rule, or OSError if the file cannot be read."""
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as err:
        raise ValueError(f"{file} is no YAML: {err}") from None
    return script_of(document)


def script_of(document: object) -> tuple[Settings, Script]:
    known = Settings.__struct_fields__
    found = script_documents.mapping(document, "the script", (*known, "default", "pods"))
    return Settings(**{key: found[key] for key in known if key in found}), script_documents.script_of(found)


def _follow(cluster: Cluster, script: Script) -> None:
    cluster.inside.scripts.rules.extend(script.rules)
    if script.default is not None:
        cluster.inside.scripts.default = script.default
