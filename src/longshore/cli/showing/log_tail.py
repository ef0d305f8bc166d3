"""Prints the logs of containers: one after the other, or all at once when following them."""

from __future__ import annotations

import queue
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from longshore.api.errors import StatusError
from longshore.cli.arguments import pod_choice
from longshore.cli.server import refusals
from longshore.client.errors import Unreachable

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server


class Source(NamedTuple):
    """One container of one pod."""

    namespace: str
    pod: str
    container: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.pod}/log"

    @property
    def prefix(self) -> bytes:
        return f"[pod/{self.pod}/{self.container}] ".encode()


def sources(pod: Obj, arguments: Namespace) -> Iterator[Source]:
    """The containers in the arguments; without any, the first container, with a note if there are more."""
    meta, spec = pod["metadata"], pod["spec"]
    parts = ("initContainers", "containers", "ephemeralContainers")
    names = [one["name"] for part in parts for one in spec.get(part) or ()]
    for name in names if arguments.all_containers else [pod_choice.container(pod, arguments.container)]:
        yield Source(meta["namespace"], meta["name"], name)


def show(server: Server, sources: Sequence[Source], query: dict[str, str], arguments: Namespace) -> int:
    """Prints all logs. Returns the exit code."""
    if not arguments.follow or len(sources) < 2:
        for source in sources:
            try:
                _copy(server, source, query, arguments.prefix, None)
            except StatusError as err:
                if not arguments.ignore_errors:
                    raise
                print(refusals.text(err), file=sys.stderr)
        return 0
    return _all_at_once(server, sources, query, arguments)


def _all_at_once(
    server: Server, sources: Sequence[Source], query: dict[str, str], arguments: Namespace
) -> int:
    """Prints all logs at once. Ends when all logs have ended, or at the first error of the output, which the
    reader of a silent log would not notice."""
    lock = threading.Lock()
    failures: list[str] = []
    ends: queue.SimpleQueue[OSError | None] = queue.SimpleQueue()

    def follow(source: Source) -> None:
        broken = None
        try:
            _copy(server, source, query, arguments.prefix, lock)
        except StatusError as err:
            failures.append(refusals.text(err))
        except Unreachable as err:
            failures.append(str(err))
        except OSError as err:
            broken = err
        finally:
            ends.put(broken)

    for source in sources:
        threading.Thread(target=follow, args=(source,), daemon=True).start()
    for _ in sources:
        if (broken := ends.get()) is not None:
            lock.acquire()  # and never releases it: no thread is to write while the process ends
            raise broken
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures and not arguments.ignore_errors else 0


def _copy(
    server: Server, source: Source, query: dict[str, str], prefix: bool, lock: threading.Lock | None
) -> None:
    out = sys.stdout.buffer
    asked = {"container": source.container, **query}
    with server.stream(source.path, asked, accept="application/json, */*") as stream:
        if not prefix and lock is None:
            for chunk in stream.chunks():
                out.write(chunk)
                out.flush()
            return
        for line in stream.lines():
            whole = line if line.endswith(b"\n") else line + b"\n"
            if lock is None:
                out.write(source.prefix * prefix + whole)
            else:
                with lock:
                    out.write(source.prefix * prefix + whole)
                    out.flush()
        out.flush()
