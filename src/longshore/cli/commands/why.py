"""Explains what longshore up did: the last plans for a Job, CronJob, queue, JobFlow, claim or namespace,
where a pod or gang was placed, or what it waits for, oldest first.

Controllers and schedulers remember their last plans while they run, for the objects they looked at last.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server

_KINDS = {
    "Job": ("job", "jobs", "jobs.batch"),
    "CronJob": ("cronjob", "cronjobs", "cj", "cronjobs.batch"),
    "Pod": ("pod", "pods", "po"),
    "PodGroup": ("podgroup", "podgroups", "pg"),
    "Queue": ("queue", "queues", "q"),
    "JobFlow": ("jobflow", "jobflows", "jf"),
    "Volcano Job": ("vcjob", "vcjobs", "vj", "jobs.batch.volcano.sh"),
    "PersistentVolumeClaim": ("pvc", "persistentvolumeclaim", "persistentvolumeclaims"),
    "PersistentVolume": ("pv", "persistentvolume", "persistentvolumes"),
    "Namespace": ("namespace", "namespaces", "ns"),
    "Volcano CronJob": ("cronvcjob", "cronvcjobs", "cronvj", "cronjobs.batch.volcano.sh"),
}
_SERVED = {
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "CronJob": "/apis/batch/v1/namespaces/{namespace}/cronjobs",
    "Namespace": "/api/v1/namespaces",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/namespaces/{namespace}/persistentvolumeclaims",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups",
    "Queue": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "JobFlow": "/apis/flow.volcano.sh/v1alpha1/namespaces/{namespace}/jobflows",
    "Volcano Job": "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs",
    "Volcano CronJob": "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/cronjobs",
}
_PLURALS = {"Volcano Job": "vcjobs", "Volcano CronJob": "vccronjobs"}
_WITHOUT_NAMESPACE = ("Namespace", "PersistentVolume", "Queue")
_SCHEDULED = ("Pod", "PodGroup")
"""Explained by the scheduler; the others by their controllers."""


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    parser.add_argument(
        "what",
        nargs="+",
        metavar="KIND/NAME",
        help="a job, cronjob, vcjob, cronvcjob, pod, podgroup, queue, jobflow, pvc, pv or namespace",
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from contextlib import closing

    from longshore.cli.main import Failure
    from longshore.cli.server import connecting
    from longshore.client.errors import Unreachable

    kind, name = _named(arguments.what)
    try:
        with closing(connecting.server(arguments)) as server:
            print(_explanation(server, kind, name))
    except Unreachable as err:
        raise Failure(str(err)) from None
    return 0


def _named(words: list[str]) -> tuple[str, str]:
    """The kind and the name."""
    from longshore.cli.main import Failure

    word, slash, name = " ".join(words).replace(" ", "/", 1).partition("/")
    for kind, spellings in _KINDS.items():
        if word in spellings and slash and name and "/" not in name and " " not in name:
            return kind, name
    raise Failure(
        f"{' '.join(words)!r} is not a Job: name it as job/NAME, or cronjob/NAME for a CronJob, vcjob/NAME "
        "for a Volcano Job, cronvcjob/NAME for its CronJob, pod/NAME for a pod, podgroup/NAME for a gang, "
        "queue/NAME, jobflow/NAME, pvc/NAME for a claim, pv/NAME for a volume, or namespace/NAME",
        2,
    )


def _explanation(server: Server, kind: str, name: str) -> str:
    from longshore.api import types
    from longshore.api.errors import StatusError
    from longshore.cli.main import Failure
    from longshore.cli.server.requests import escaped, refusal
    from longshore.plane import why_page

    part, plural = escaped(name), _PLURALS.get(kind, f"{kind.lower()}s")
    namespace = "" if kind in _WITHOUT_NAMESPACE else server.namespace
    answer = server.request("GET", why_page.path(namespace, plural, part))
    if answer.code == 404:
        who = "scheduler" if kind in _SCHEDULED else f"{kind} controller"
        raise Failure(f"no {who} runs in this server: only longshore up can say why")
    if answer.code != 200:
        raise Failure(str(refusal(answer)))
    plans = types.decode(answer.body)["plans"]
    try:
        found = server.json("GET", f"{_SERVED[kind]}/{part}".format(namespace=namespace))
    except StatusError as err:
        if err.code != 404 or not plans:
            raise Failure(str(err)) from None
        found = {"metadata": {}, "spec": {}}
    gang = _gang(server, found) if kind == "Volcano Job" else []
    uid, manager = found["metadata"].get("uid"), found["spec"].get("managedBy")
    if not plans:
        if manager:
            raise Failure(f"{kind} {name!r} is managed by {manager}: longshore leaves it alone")
        raise Failure(
            f"{kind} {name!r} has no remembered decision: longshore has just started, or decided too long ago"
        )
    lines = [line for plan in plans for line in _lines(plan, kind, uid)]
    if gang:
        lines += [f"its gang, podgroup/{name}-{uid}:", *_lines(gang[-1], "PodGroup", gang[-1]["uid"])]
    return "\n".join(lines)


def _gang(server: Server, job: dict[str, Any]) -> list[dict[str, Any]]:
    """The scheduler's reasons for the Job's PodGroup; empty if the PodGroup waits for nothing, or for
    another scheduler.
    """
    from longshore.api import types
    from longshore.plane import why_page

    if (job.get("status") or {}).get("state", {}).get("phase") not in ("Pending", "Restarting"):
        return []
    name = f"{job['metadata']['name']}-{job['metadata']['uid']}"
    answer = server.request("GET", why_page.path(server.namespace, "podgroups", name))
    return list(types.decode(answer.body)["plans"]) if answer.code == 200 else []


def _lines(plan: dict[str, Any], kind: str, uid: str | None) -> list[str]:
    title = plan["at"]
    if plan["times"] > 1:
        title += f" (for the {_ordinal(plan['times'])} time)"
    if plan["uid"] != uid:
        title += f", for an earlier {kind} of this name" if uid else f", for a {kind} that is gone"
    lines = [title, *(f"  {reason}" for reason in plan["why"] or ["nothing to do"])]
    if "problem" in plan:
        lines.append(f"  but: {plan['problem']}")
    return lines


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
