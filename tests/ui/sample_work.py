"""Work worth looking at, for screenshots: Jobs in every state, CronJobs, gangs, a queue, a JobFlow, a pod."""

from __future__ import annotations

from typing import Any

from ui.dashboard import Dashboard, cronjob, gang, job

RENDER = r"""
printf '\033[36mframe %s\033[0m loading scene\n' $JOB_COMPLETION_INDEX
sleep $(( JOB_COMPLETION_INDEX % 3 + 1 ))
if [ $(( JOB_COMPLETION_INDEX % 37 )) = 11 ]; then echo "texture sky-4k.exr is damaged" >&2; exit 3; fi
printf '\033[32mframe %s done\033[0m, 1920x1080, 64 samples\n' $JOB_COMPLETION_INDEX
"""
VOLCANO = "flow.volcano.sh/v1alpha1"


def create(site: Dashboard) -> None:
    site.create(*_jobs(), *_cronjobs(), *_gangs(), *_flow(), _pod())


def _jobs() -> list[dict[str, Any]]:
    indexed = {"completionMode": "Indexed", "backoffLimitPerIndex": 2, "maxFailedIndexes": 40}
    big = job("import-archive", "true")
    big["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"memory": "900Gi"}}
    return [
        job("resize-thumbnails", "sleep 0.2", completions=24, parallelism=8, labels={"team": "web"}),
        job("check-links", "echo 'https://example.com/old is gone' >&2; exit 4", backoffLimit=0),
        job("compress-logs", "true", completions=6, parallelism=6, completionMode="Indexed"),
        big,
        job("reindex-search", "sleep 60", suspend=True, labels={"team": "search"}),
        job("render-frames", RENDER, completions=240, parallelism=10, labels={"team": "film"}, **indexed),
    ]


def _cronjobs() -> list[dict[str, Any]]:
    return [
        cronjob("nightly-backup", "30 2 * * *", "echo saved 1,204 files", timeZone="Europe/Berlin"),
        cronjob("hourly-report", "0 * * * *", "echo sent"),
        cronjob("clean-cache", "*/20 * * * *", "true", suspend=True),
    ]


def _gangs() -> list[dict[str, Any]]:
    train = gang("train-resnet", 8, cpu="10m")
    train["spec"] |= {
        "queue": "research",
        "minAvailable": 6,
        "policies": [{"event": "PodFailed", "action": "RestartJob"}],
    }
    train["spec"]["tasks"][0] |= {"minAvailable": 6}
    greedy = gang("train-huge", 4, cpu="64")
    greedy["spec"]["queue"] = "research"
    share = {"weight": 3, "capability": {"cpu": "2", "memory": "8Gi"}, "deserved": {"cpu": "1"}}
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "research"}}
    return [{**queue, "spec": share}, train, greedy]


def _flow() -> list[dict[str, Any]]:
    steps = {
        "fetch": [],
        "clean": ["fetch"],
        "train": ["clean"],
        "report": ["clean"],
        "publish": ["train", "report"],
    }
    seconds = {"fetch": 1, "clean": 1, "train": 600}
    templates = []
    for name in steps:
        made = gang(name, 2, command=f"sleep {seconds.get(name, 2)}")
        templates.append(
            {"apiVersion": VOLCANO, "kind": "JobTemplate", "metadata": {"name": name}, "spec": made["spec"]}
        )
    flows = [
        {"name": name, **({"dependsOn": {"targets": targets}} if targets else {})}
        for name, targets in steps.items()
    ]
    flow = {"apiVersion": VOLCANO, "kind": "JobFlow", "metadata": {"name": "weekly-model"}}
    return [*templates, {**flow, "spec": {"jobRetainPolicy": "retain", "flows": flows}}]


def _pod() -> dict[str, Any]:
    say = "while true; do date '+%T worker ready, 0 jobs in the queue'; sleep 1; done"
    container = {
        "name": "main",
        "image": "local",
        "command": ["sh", "-c", say],
        "env": [{"name": "LEVEL", "value": "info"}, {"name": "API_TOKEN", "value": "hush"}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
    }
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker"}, "spec": spec}
