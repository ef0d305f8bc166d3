"""A whole Kubernetes for one test: a real HTTPS API, real controllers, and pods that follow the test's
script.

    with Cluster() as c:
        c.pods.script("report-*", Exit(1, after="3s"), Exit(0))
        c.apply("report-job.yaml")
        c.wait("job/report", "Complete", timeout="1m")

It runs in a thread with its own event loop, so clients of every kind work with it, in this process or
another. Its methods may be called from any thread. Called in an event loop, they block it.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import os
import shutil
import tempfile
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self, overload

import msgspec

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.spreads import Duration, seconds
from longshore.testing import (
    cluster_snapshots,
    cluster_stories,
    identity,
    object_names,
    promises,
    ready_clients,
)
from longshore.testing.cluster_clock import ClusterClock, moment_of
from longshore.testing.cluster_pods import ClusterPods
from longshore.testing.cluster_snapshots import ClusterSnapshot
from longshore.testing.held_loop import HeldLoop, LoopThread, in_thread
from longshore.testing.injected_faults import ClusterFaults
from longshore.testing.installation import Installation
from longshore.testing.ready_clients import ClientName
from longshore.testing.scripted_answers import ClusterAnswers
from longshore.testing.seen_requests import SeenRequests
from longshore.testing.settings import ClockName, ClusterSettings, NodeName
from longshore.testing.wait_verdicts import Condition, WaitVerdict, check_condition, judge
from longshore.up.startup import resting_collector

__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""
MANAGER = "longshore-testing"
"""The field manager of `apply`."""


class WaitFailed(AssertionError):
    """The condition did not become true. See the story in the message: status, pods, events, why."""

    def __init__(self, message: str = "", about: object_names.Named | None = None) -> None:
        super().__init__(message or self.__doc__)
        self.about = about
        """The object whose story the message tells."""


class Cluster:
    """For a `with` or `async with` block, or with `start` and `close`. Options are in `settings.py`."""

    _was_any: ClassVar[bool] = False
    """Whether this process has started a cluster before."""

    def __init__(
        self,
        *,
        clock: ClockName = "virtual",
        node: NodeName = "scripted",
        controllers: Sequence[str] | None = None,
        volcano: bool = True,
        strict: bool = False,
        start: str | datetime = "",
        patience: Duration = "60s",
        seed: int = 0,
    ) -> None:
        self.settings = ClusterSettings(clock, node, controllers, volcano, strict, start, patience, seed)
        self.clock: ClusterClock = ClusterClock(self)
        """Moves the virtual clock; the real clock can only be read."""
        self.pods: ClusterPods = ClusterPods(self)
        """Scripts how pods run and end."""
        self.faults: ClusterFaults = ClusterFaults(self)
        """Injects faults."""
        self.answers: ClusterAnswers = ClusterAnswers(self)
        """Answers requests by hand."""
        self._loop: LoopThread[asyncio.AbstractEventLoop] | None = None
        self._inside: Installation | None = None

    # ---- beginning and end

    def start(self, *, port: int = 0, door: bool = False) -> Self:
        """Starts the cluster; returns when it is ready. A `port` of 0 means any free one. `door` serves
        `/testing/` to tests in other languages."""
        if self._loop is not None:
            raise RuntimeError("this cluster runs already; make another one: Cluster()")
        shown, settings = identity.shared(), self.settings
        begin = moment_of(settings.start or RealClock().now().replace(microsecond=0), "UTC")
        directory = Path(tempfile.mkdtemp(prefix="longshore-testing-"))  # mode 0700
        make_loop = HeldLoop if self.settings.clock == "virtual" else _real_loop
        self._loop = LoopThread(make_loop, "longshore cluster")
        loop = self._loop.loop
        is_held = isinstance(loop, HeldLoop)
        clock: VirtualClock | RealClock = RealClock()
        if isinstance(loop, HeldLoop):
            clock = VirtualClock(loop, begin, settings.seed)
            settings = msgspec.structs.replace(settings, start=begin.isoformat())
        self._inside = Installation(settings, clock, directory, shown)
        self._inside.port = port
        if door:
            from longshore.testing.language_door import LanguageDoor

            self._inside.door = LanguageDoor(self)
        try:
            is_first, Cluster._was_any = not Cluster._was_any, True
            with resting_collector(stays=is_first):  # modules stay, even if the cluster ends soon
                self._loop.run(self._inside.start())
                if is_held:
                    self.settle()
            self.kubeconfig.write_text(self._kubeconfig_text)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Ends the cluster with all its parts. Closing twice is fine."""
        if self._loop is None or self._inside is None:
            return
        loop, inside = self._loop, self._inside
        self._loop = None
        if isinstance(held := loop.loop, HeldLoop):
            held.call_soon_threadsafe(held.let_go)
        try:
            loop.run(inside.stop())
        finally:
            loop.stop()
            shutil.rmtree(inside.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, *exc: object) -> None:
        try:
            if kind is None:
                self.check_test()
        finally:
            self.close()

    async def __aenter__(self) -> Self:
        return await in_thread(self.start)

    async def __aexit__(self, kind: object, *exc: object) -> None:
        await in_thread(partial(self.__exit__, kind, *exc))

    # ---- for its parts

    @property
    def loop(self) -> LoopThread[asyncio.AbstractEventLoop]:
        """The thread of the cluster."""
        if self._loop is None:
            raise RuntimeError("this cluster does not run: use it in a with block, or call start()")
        return self._loop

    @property
    def inside(self) -> Installation:
        """The plane, the server and the node. Use them only in the cluster's own thread."""
        if self._inside is None:
            raise RuntimeError("this cluster does not run: use it in a with block, or call start()")
        return self._inside

    def settle(self) -> None:
        """Returns when nothing is left to do at this moment of the virtual clock; at once on the real one."""
        self.pass_time(0.0)

    def pass_time(self, seconds: float) -> None:
        """Lets time pass on the virtual clock, until the first error of the test's own code, which is
        raised."""
        inside = self.inside
        if isinstance(loop := self.loop.loop, HeldLoop):
            self.loop.run(loop.advance(seconds, lambda: inside.mistake is not None))
            self._raise_mistake()

    def _raise_mistake(self) -> None:
        inside = self.inside
        mistake, inside.mistake = inside.mistake, None
        if mistake is not None:
            raise mistake

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs work in the cluster's thread, and lets as much virtual time pass as the work waits for."""
        loop = self.loop.loop
        self.loop.run(loop.let_pass(work) if isinstance(loop, HeldLoop) else work)
        self.settle()

    # ---- ways in for clients

    @property
    def url(self) -> str:
        """`https://127.0.0.1:PORT`."""
        return self.inside.url

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self.inside.token

    @property
    def kubeconfig(self) -> Path:
        """The path of a kubeconfig for every client. It is deleted with the cluster."""
        return self.inside.directory / "kubeconfig"

    @cached_property
    def kubeconfig_dict(self) -> dict[str, Any]:
        """The content of the kubeconfig."""
        import yaml

        found: dict[str, Any] = yaml.safe_load(self._kubeconfig_text)
        return found

    @property
    def kubeconfig_ca(self) -> str:
        """The certificate of the authority that signed the server's, in PEM: for clients of your own."""
        return identity.shared().ca.decode()

    @property
    def _kubeconfig_text(self) -> str:
        from longshore.up import kubeconfig

        return kubeconfig.text(server=self.url, ca=identity.shared().ca, token=self.token)

    @contextmanager
    def environ(self) -> Iterator[Path]:
        """Sets `KUBECONFIG` during the block, so that code under test finds the cluster by itself."""
        with ready_clients.finding(self.kubeconfig):
            yield self.kubeconfig

    @property
    def requests(self) -> SeenRequests:
        """The requests that clients sent over HTTP."""
        return self.inside.requests

    def client(self, library: ClientName) -> Any:
        """A configured client of an installed library: `kubernetes` (an ApiClient), `kubernetes_asyncio` (a
        coroutine that gives one), `kr8s` or `lightkube`."""
        return ready_clients.make(library, self.kubeconfig)

    # ---- the state as a whole

    def snapshot(self) -> ClusterSnapshot:
        """The present state as a whole: objects, time, scripts, running pods."""
        self.settle()
        return self.loop.call(lambda: cluster_snapshots.take(self.inside))

    def restore(self, snapshot: ClusterSnapshot) -> None:
        """Restores a snapshot, of this cluster or of another one. Cuts connections, forgets requests, and
        clears faults and answers by hand."""
        if not isinstance(snapshot, ClusterSnapshot):
            raise ValueError(f"{snapshot!r} is no snapshot: give what snapshot() returned")
        self.loop.run(cluster_snapshots.put_back(self.inside, snapshot))
        self.settle()

    def assert_consistent(self) -> None:
        """Checks the promises that hold whenever nothing is left to do: every finished pod is counted once,
        no orphan, no stuck finalizer, no terminal condition flipped. Raises AssertionError with all that is
        broken."""
        self.settle()
        collects = "garbage" in self.settings.running_controllers
        store = self.inside.store
        found = self.loop.call(lambda: promises.broken(store, store.ledger, collects_garbage=collects))
        if found:
            raise AssertionError("\n".join(["these promises are broken:", *found]))

    def unused(self) -> builtins.list[str]:
        """The scripts, answers and faults of the test that matched nothing, most often because of a
        misspelling."""
        return self.loop.call(self.inside.unused)

    def check_test(self) -> None:
        """Raises the error of a script function, unless another call raised it already. If the cluster is
        `strict`, raises AssertionError when anything is `unused`. The end of a `with` block and of a test
        does this."""
        self._raise_mistake()
        if self.settings.strict and (unused := self.unused()):
            raise AssertionError("\n".join(["the test ordered what never met anything:", *unused]))

    # ---- objects

    @overload
    def apply(self, manifest: Mapping[str, Any], *, namespace: str = ...) -> dict[str, Any]: ...
    @overload
    def apply(self, manifest: str | os.PathLike[str], *, namespace: str = ...) -> list[dict[str, Any]]: ...
    def apply(
        self, manifest: Mapping[str, Any] | str | os.PathLike[str], *, namespace: str = "default"
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Creates or updates the objects in a dict, a YAML text or a file, and returns the stored objects:
        one for a dict, else a list."""
        made = []
        for obj in object_names.manifests(manifest):
            made.append(self.loop.run(self._apply(obj, namespace)))
            self.settle()
        return made[0] if isinstance(manifest, Mapping) and len(made) == 1 else made

    async def _apply(self, obj: Obj, namespace: str) -> Obj:
        row = object_names.of_object(obj, await self._client.resources())
        meta = obj.get("metadata") or {}
        where = (meta.get("namespace") or namespace) if row.namespaced else ""
        if not meta.get("name"):
            return object_names.plain(row, await self._client.create(row, obj, where, manager=MANAGER))
        return object_names.plain(row, await self._client.apply(row, obj, where, manager=MANAGER, force=True))

    def get(self, name: str, *, namespace: str = "default") -> dict[str, Any]:
        """One object as a plain dict: `c.get("job/x")`. Raises StatusError with code 404 if it does not
        exist."""
        self.settle()
        return self.loop.run(self._get(name, namespace))

    async def _get(self, name: str, namespace: str) -> Obj:
        row, plain, where = object_names.one(name, namespace, await self._client.resources())
        return object_names.plain(row, await self._client.get(row, plain, where))

    def list(
        self, kind: str, *, namespace: str = "default", labels: str = "", fields: str = ""
    ) -> builtins.list[dict[str, Any]]:
        """The objects of a kind: `c.list("pods", labels="app=x")`. An empty namespace means all of them."""
        self.settle()

        async def listed() -> builtins.list[dict[str, Any]]:
            row = object_names.kind(kind, await self._client.resources())
            where = namespace if row.namespaced else ""
            found = await self._client.list(row, where, labels=labels, fields=fields)
            return [object_names.plain(row, obj) for obj in found.items]

        return self.loop.run(listed())

    def delete(self, name: str, *, namespace: str = "default") -> None:
        """Deletes an object and, in the background, its dependents, as `kubectl delete` does."""
        from longshore.client import DeleteOptions

        async def deleted() -> None:
            row, plain, where = object_names.one(name, namespace, await self._client.resources())
            await self._client.delete(row, plain, where, DeleteOptions(propagation="Background"))

        self.loop.run(deleted())
        self.settle()

    def logs(
        self, pod: str, *, container: str = "", previous: bool = False, namespace: str = "default"
    ) -> str:
        """The log of a pod."""
        self.settle()
        query = {"container": container} if container else {}
        if previous:
            query["previous"] = "true"

        async def read() -> str:
            path = f"/api/v1/namespaces/{namespace}/pods/{pod.removeprefix('pod/')}/log"
            answer = await self._client.request("GET", path, query=query)
            if answer.code >= 400:
                raise StatusError.from_status(json.loads(answer.body), answer.code)
            return answer.body.decode("utf-8", "replace")

        return self.loop.run(read())

    def events(self, name: str = "", *, namespace: str = "default") -> builtins.list[dict[str, Any]]:
        """The events about an object, oldest first; without one, all of the namespace."""
        self.settle()
        return self.loop.run(cluster_stories.events(self.inside, name, namespace))

    def why(self, name: str, *, namespace: str = "default") -> str:
        """The story of an object, as `longshore why` tells it."""
        self.settle()
        return self.loop.run(cluster_stories.why(self.inside, name, namespace))

    # ---- waiting

    def wait(
        self, name: str, condition: Condition, timeout: Duration = "60s", *, namespace: str = "default"
    ) -> dict[str, Any]:
        """Waits until a condition of an object is true, and returns the object: `c.wait("job/x", "Complete",
        timeout="10s")`. Raises `WaitFailed` at once if the condition can never become true, else after the
        timeout, which is by the cluster's clock. The message has the story. For the words of conditions see
        `wait_verdicts.py`."""
        length = seconds(timeout)
        verdict, named = self.loop.run(self._waited(name, condition, length, namespace))
        self._raise_mistake()
        if verdict.is_true:
            found = self._stored(named)
            return {} if found is None else object_names.plain(named.resource, found)
        what = condition if isinstance(condition, str) else "what was asked for"
        outcome = f"and never will be: {verdict.never}" if verdict.never else f"after {length:g} s"
        story = self.report(name, namespace=namespace)
        raise WaitFailed(f"{name} is not {what} {outcome}\n{story}", named)

    async def _waited(
        self, name: str, condition: Condition, length: float, namespace: str
    ) -> tuple[WaitVerdict, object_names.Named]:
        named = object_names.one(name, namespace, await self._client.resources())
        seen: list[WaitVerdict] = []
        was_there = False
        check_condition(named.resource, condition, self._stored(named))

        def decided() -> bool:
            nonlocal was_there
            obj = self._stored(named)
            seen[:] = [judge(named.resource.kind, condition, obj, was_there=was_there)]
            was_there = was_there or obj is not None
            if self.inside.mistake is not None:
                return True
            return seen[0].is_true or bool(seen[0].never)

        await self.inside.until(decided, length)
        return seen[0], named

    def _stored(self, named: object_names.Named) -> Obj | None:
        return self.inside.stored_row(named.resource, named.name, named.namespace)

    def report(self, name: str, *, namespace: str = "default") -> str:
        """The story of an object for a person: status, pods, last events, why."""
        return self.loop.run(cluster_stories.report(self.inside, name, namespace))

    def summary(self, after: BaseException | None = None) -> str:
        """The state of a cluster after a failure, for a person: objects, events, why, requests, and how to
        repeat the run. Leaves out the story that is already in the error `after`."""
        about = after.about if isinstance(after, WaitFailed) else None
        return self.loop.run(cluster_stories.summary(self.inside, about))

    @property
    def _client(self) -> LocalClient:
        """A client that calls the API without HTTP and without faults."""
        return self.inside.own_client


def _real_loop() -> asyncio.AbstractEventLoop:
    from longshore.up.foreground import event_loop

    return event_loop()
