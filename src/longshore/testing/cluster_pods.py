"""Lets a test control the pods of a cluster: by a script beforehand, or one pod by hand."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.node.runtime import Key
from longshore.scripts.pod_rules import Attempt, CommandRule, Rule
from longshore.scripts.runs import OOM_REASON, Chance, Exec, Outcome, Run
from longshore.scripts.spreads import Duration, seconds

if TYPE_CHECKING:
    from longshore.testing.cluster_for_tests import Cluster

__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""
_KILLED: Final = (137, 9)


class PodHandle:
    """One pod, whose end a test decides by hand: `c.pods["x"].fail(3)`."""

    def __init__(self, cluster: Cluster, name: str, namespace: str) -> None:
        self._cluster, self.name, self.namespace = cluster, name, namespace

    def succeed(self) -> None:
        """Ends its containers now, with code 0."""
        self._end(0)

    def fail(self, code: int = 1) -> None:
        """Ends its containers now, with this code."""
        if type(code) is not int or not 1 <= code <= 255:
            raise ValueError(f"code {code!r} is no failure: it must be a number between 1 and 255")
        self._end(code)

    def oom(self) -> None:
        """The kernel kills its containers for lack of memory."""
        self._end(*_KILLED, OOM_REASON)

    def evict(self) -> None:
        """Requests its eviction from the API, as `kubectl drain` does: its budget is checked, and its grace
        period begins."""

        async def evict() -> None:
            body = {"metadata": {"name": self.name}}
            await self._cluster.inside.plane.client.create(
                kinds.PODS, body, self.namespace, name=self.name, subresource="eviction"
            )

        self._cluster.loop.run(evict())
        self._cluster.settle()

    def crash_node(self, noticed: Duration = "40s") -> None:
        """The pod's machine goes down, with all its pods. The cluster notices this after `noticed`, and
        deletes the pods when their toleration ends, by default 300 s later. The machine comes up again 10 s
        after that. With `noticed=0` it comes up at once, and only the exit codes of its containers are lost.
        """
        inside, quiet = self._cluster.inside, seconds(noticed)
        if not quiet:
            self._cluster.do(inside.crash_node())
            return
        self._cluster.loop.call(lambda: inside.lose_node(quiet))
        self._cluster.settle()

    def _end(self, code: int, signal: int = 0, reason: str = "") -> None:
        def end() -> None:
            machine = self._cluster.inside.node.machine
            for key in self._running():
                machine.end(key, code, signal, reason)

        self._cluster.settle()
        self._cluster.loop.call(end)
        self._cluster.settle()

    def _running(self) -> list[Key]:
        """The main containers that run. Raises RuntimeError when there are none."""
        inside = self._cluster.inside
        pod = self._stored()
        mains = {container["name"] for container in pod["spec"]["containers"]}
        keys = [
            key
            for key in inside.node.machine.running
            if key.pod_uid == pod["metadata"]["uid"] and key.container in mains
        ]
        if not keys:
            phase = (pod.get("status") or {}).get("phase")
            raise RuntimeError(
                f"pod {self.name} does not run: it is {phase}; to end a pod by hand, script it "
                f'before it starts: c.pods.script("{self.name}", Run.forever())'
            )
        return keys

    def _stored(self) -> Obj:
        found = self._cluster.inside.stored(kinds.PODS, self.name, self.namespace)
        if found is None:
            raise StatusError(404, "NotFound", f'pods "{self.name}" not found')
        return found


class ClusterPods:
    """`c.pods`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def script(
        self,
        name: str | Attempt = "*",
        *runs: Attempt,
        namespace: str = "",
        labels: str = "",
        image: str = "",
        job: str = "",
        index: int | None = None,
        container: str = "",
    ) -> None:
        """Says how pods run and end: `c.pods.script("worker-*", Exit(1, after="3s"), Exit(0))`, or without a
        name `c.pods.script(Exit(1), job="report")`. Several runs are attempts; a function takes the pod and
        returns a run. The last script that matches counts. See `Rule` for the arguments."""
        which, told = (name, runs) if isinstance(name, str) else ("*", (name, *runs))
        told = tuple(map(self._watched, told))
        rule = Rule(which, told, namespace, labels, image, job, index, container)
        self._cluster.loop.call(lambda: self._cluster.inside.scripts.add(rule))

    def exec(
        self,
        name: str,
        answer: Exec,
        *,
        command: str = "*",
        namespace: str = "",
        labels: str = "",
        container: str = "",
    ) -> None:
        """Says how commands end that are run in pods, as by `kubectl exec`: `c.pods.exec("db-*",
        Exec(output="14"), command="psql *")`. Patterns are those of a shell; `command` must match all words
        of the command. The last call that matches counts; without one a command succeeds and prints nothing.
        """
        which = Rule(name, namespace=namespace, labels=labels, container=container or "*")
        rule = CommandRule(which, command, answer)
        self._cluster.loop.call(lambda: self._cluster.inside.scripts.commands.append(rule))

    def default(self, run: Outcome) -> None:
        """Says how pods without a matching script run and end. By default they succeed at once."""

        def change() -> None:
            self._cluster.inside.scripts.default = Rule(runs=(run,))

        self._cluster.loop.call(change)

    def _watched(self, run: Attempt) -> Attempt:
        """A script function whose errors are raised in the test. The pod of such an error keeps running."""
        if isinstance(run, Run | Chance) or not callable(run):
            return run

        @functools.wraps(run)
        def asked(pod: Obj) -> Outcome:
            try:
                found = run(pod)
                if not isinstance(found, Run | Chance):
                    raise TypeError(
                        f"the script {_name(run)} returned {found!r} for pod {pod['metadata']['name']}; "
                        "return Exit(…), Run(…) or Chance(…)"
                    )
                return found
            except Exception as err:
                self._cluster.inside.blame(err)
                return Run.forever()

        return asked

    def __getitem__(self, name: str) -> PodHandle:
        """The pod of this name, in namespace `default` or as `namespace/name`."""
        namespace, _, plain = name.rpartition("/")
        return PodHandle(self._cluster, plain, namespace or "default")


def _name(function: object) -> str:
    return str(getattr(function, "__name__", function))
