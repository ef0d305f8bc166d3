"""Draws a small scenario from a seed: valid objects of every mode and policy, deeds, trouble, deaths."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec.structs import replace

from longshore.api.types import Obj
from simulation import kept, more_deeds, more_work
from simulation.scenario import GANG_PREFIX, Crash, Deed, Scenario, Trouble, Verb, Who

CALM_SECONDS = 120.0
_EXIT_CODES = (1, 7, 42)


def scenario(seed: int) -> Scenario:
    rng = random.Random(f"scenario {seed}")
    draw = _Drawing(rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice((draw.job, draw.job, draw.job, draw.cron_job, draw.gang, draw.gang))()
    is_crowded = random.Random(f"cpus of {seed}").random() < 0.2
    if is_crowded:
        draw.crowd()
    for _ in range(rng.choice((0, 0, 1, 2, 4))):
        draw.disturb()
    if seed not in kept.DRAWN_BEFORE:
        draw.deeds += more_deeds.drawn(seed, draw.deeds)
    mood = rng.random()
    trouble = Trouble() if mood < 0.4 else Trouble(rng.choice((0.03, 0.1, 0.2)), rng.choice((0.0, 1.0, 4.0)))
    together = rng.random() < 0.5
    drawn = Scenario(
        seed,
        tuple(sorted(draw.deeds, key=lambda deed: deed.at)),
        trouble,
        tuple(draw.crash(together) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))),
        shuffled=rng.random() < 0.7,
        shortcuts=rng.random() < 0.7,
        together=together,
        quiet_watches=rng.random() < 0.75,
        calm_at=CALM_SECONDS,
        cpus=2 if is_crowded else 4,
    )
    # Late watches alone, where no write fails: what controllers do twice then is nobody's fault but theirs.
    if rng.random() < 0.15:
        drawn = replace(drawn, trouble=Trouble(0.0, rng.choice((1.0, 4.0))))
    return drawn if seed in kept.WITHOUT_MORE_WORK else more_work.drawn(drawn)


_Meddling: TypeAlias = tuple[Verb, Callable[[random.Random], Obj]]
"""What is done, and how the rest of the deed is drawn."""
_POLICIES: Final = ("Background", "Foreground", "Orphan")
_ACTIONS: Final = ("AbortJob", "ResumeJob", "RestartJob", "TerminateJob", "CompleteJob")
_DELETE_A_POD: Final[_Meddling] = ("delete a pod", lambda rng: {"nth": rng.randrange(4)})
_DEEDS: Final[tuple[_Meddling, ...]] = (
    ("delete", lambda rng: {"propagation": rng.choice(_POLICIES)}),
    *(_DELETE_A_POD, _DELETE_A_POD),
    ("evict a pod", _DELETE_A_POD[1]),
    ("lose the machine", lambda rng: {}),
    ("jump", lambda rng: {"seconds": rng.choice((-20.0, 15.0, 90.0, 4000.0))}),
)
_SUSPEND: Final[_Meddling] = ("patch", lambda rng: {"spec": {"suspend": rng.random() < 0.5}})
_PARALLELISM: Final[_Meddling] = ("patch", lambda rng: {"spec": {"parallelism": rng.randint(0, 4)}})
_COMMAND: Final[_Meddling] = ("command", lambda rng: {"action": rng.choice(_ACTIONS)})
_DEEDS_OF: Final[dict[str, tuple[_Meddling, ...]]] = {
    "job": (_SUSPEND, _SUSPEND, _PARALLELISM),
    "cronjob": (_SUSPEND,),
    "gang": (_COMMAND, _COMMAND),
}


class _Drawing:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.deeds: list[Deed] = []
        self._number = 0

    def job(self) -> None:
        self._create("job", self._named("j"), {"spec": self._job_spec()})

    def cron_job(self) -> None:
        rng = self._rng
        inner = self._job_spec(short=True)
        spec: Obj = {
            "schedule": rng.choice(("* * * * *", "*/2 * * * *", "@every 30s", "@every 20s")),
            "concurrencyPolicy": rng.choice(("Allow", "Forbid", "Replace")),
            "jobTemplate": {"spec": inner},
        }
        if rng.random() < 0.3:
            spec["startingDeadlineSeconds"] = rng.choice((10, 30, 200))
        for limit in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
            if rng.random() < 0.4:
                spec[limit] = rng.choice((0, 1, 2))
        self._create("cronjob", self._named("c"), {"spec": spec})

    def gang(self) -> None:
        rng = self._rng
        tasks = []
        for task in ("chief", "worker")[: rng.choice((1, 2))]:
            row: Obj = {
                "name": task,
                "replicas": rng.randint(1, 3),
                "template": {"spec": self._pod_spec("500m")},
            }
            if rng.random() < 0.2:
                row["policies"] = [
                    {"event": "TaskCompleted", "action": rng.choice(("CompleteJob", "RestartJob"))}
                ]
            tasks.append(row)
        replicas = sum(row["replicas"] for row in tasks)
        spec: Obj = {"schedulerName": "volcano", "tasks": tasks, "maxRetry": rng.choice((1, 2, 3))}
        if rng.random() < 0.5:
            spec["minAvailable"] = rng.randint(1, replicas)
        if rng.random() < 0.5:
            event = rng.choice(("PodFailed", "PodEvicted", "*"))
            actions = ("RestartJob", "RestartTask", "AbortJob", "TerminateJob", "CompleteJob", "RestartPod")
            spec["policies"] = [{"event": event, "action": rng.choice(actions)}]
        if rng.random() < 0.3:
            spec["ttlSecondsAfterFinished"] = rng.choice((0, 5, 40))
        if rng.random() < 0.4:
            queue = self._named("q")
            cpu = "2" if self._number % 2 else "1800m"  # with or without a rest when pods of 500m fill it
            self._create("queue", queue, {"spec": {"weight": 1, "capability": {"cpu": cpu}}}, at=0.0)
            spec["queue"] = queue
        self._create("gang", self._named(GANG_PREFIX), {"spec": spec})

    def crowd(self) -> None:
        """A gang that is let in, and then finds room for some of its pods only: a Job came first."""
        rng = self._rng
        at = rng.uniform(0.0, 40.0)
        job: Obj = {"parallelism": 4, "completions": 4, "template": {"spec": self._pod_spec("200m")}}
        task: Obj = {"name": "worker", "replicas": 4, "template": {"spec": self._pod_spec("500m")}}
        gang = {
            "schedulerName": "volcano",
            "tasks": [task],
            "minAvailable": rng.choice((2, 3, 3)),
            "maxRetry": 1,
        }
        self._create("job", self._named("j"), {"spec": job}, at)
        self._create("gang", self._named(GANG_PREFIX), {"spec": gang}, at + rng.choice((0.0, 0.1, 1.0)))

    def disturb(self) -> None:
        rng = self._rng
        made = [deed for deed in self.deeds if deed.verb == "create" and deed.kind != "queue"]
        target = rng.choice(made)
        at = rng.uniform(target.at, more_deeds.LAST_SECONDS)
        verb, body = rng.choice((*_DEEDS, *_DEEDS_OF[target.kind]))
        whose = () if verb in ("lose the machine", "jump") else (target.kind, target.name)
        self.deeds.append(Deed(at, verb, *whose, body=body(rng)))

    def crash(self, together: bool) -> Crash:
        rng = self._rng
        apart: tuple[Who, ...] = ("controllers", "controllers", "scheduler", "node")
        who: Who = "all" if together else rng.choice(apart)
        away = rng.choice((0.0, 0.0, 2.0, 15.0))
        # Node and API are one process wherever longshore runs pods, so a node never has an old look.
        stale = who in ("controllers", "scheduler") and rng.random() < 0.5
        return Crash(who, rng.randint(1, 25), rng.random() < 0.5, away, stale)

    def _job_spec(self, short: bool = False) -> Obj:
        rng = self._rng
        spec: Obj = {
            "parallelism": rng.randint(1, 4),
            "backoffLimit": rng.randint(0, 3),
            "template": {"spec": self._pod_spec("200m")},
        }
        indexed = rng.random() < 0.5
        if indexed or rng.random() < 0.7:
            spec["completions"] = rng.randint(1, 2 if short else 5)
        if indexed:
            self._indexed(spec)
        if rng.random() < 0.3:
            spec["podFailurePolicy"] = {"rules": self._rules(indexed and "backoffLimitPerIndex" in spec)}
        elif rng.random() < 0.3:
            spec["podReplacementPolicy"] = rng.choice(("Failed", "TerminatingOrFailed"))
        if rng.random() < 0.2:
            spec["activeDeadlineSeconds"] = rng.choice((1, 20, 60))
        if rng.random() < 0.2 and not short:
            spec["ttlSecondsAfterFinished"] = rng.choice((0, 5, 60))
        if rng.random() < 0.1 and not short:
            spec["suspend"] = True
        if "podFailurePolicy" not in spec and "backoffLimitPerIndex" not in spec and rng.random() < 0.15:
            spec["template"]["spec"]["restartPolicy"] = "OnFailure"
            spec.pop("podReplacementPolicy", None)
        return spec

    def _indexed(self, spec: Obj) -> None:
        rng = self._rng
        spec["completionMode"] = "Indexed"
        if rng.random() < 0.4:
            del spec["backoffLimit"]
            spec["backoffLimitPerIndex"] = rng.randint(0, 2)
            if rng.random() < 0.5:
                spec["maxFailedIndexes"] = rng.randint(0, spec["completions"])
        if rng.random() < 0.3:
            spec["successPolicy"] = {"rules": [{"succeededCount": rng.randint(1, spec["completions"])}]}

    def _rules(self, per_index: bool) -> list[Obj]:
        actions = ["FailJob", "Ignore", "Count", *(["FailIndex"] if per_index else [])]
        rules: list[Obj] = [
            {
                "action": self._rng.choice(actions),
                "onExitCodes": {"operator": "In", "values": [self._rng.choice(_EXIT_CODES)]},
            }
        ]
        if self._rng.random() < 0.5:
            conditions = [{"type": "DisruptionTarget", "status": "True"}]
            rules.append({"action": "Ignore", "onPodConditions": conditions})
        return rules

    def _pod_spec(self, cpu: str) -> Obj:
        container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        grace = self._rng.choice((0, 5, 30))
        return {"restartPolicy": "Never", "terminationGracePeriodSeconds": grace, "containers": [container]}

    def _named(self, letter: str) -> str:
        self._number += 1
        return f"{letter}{self._number}"

    def _create(self, kind: str, name: str, obj: Obj, at: float | None = None) -> None:
        at = self._rng.uniform(0.0, 40.0) if at is None else at
        self.deeds.append(Deed(at, "create", kind, name, obj))
