"""Explains what longshore up did: the last plans for a Job or CronJob, where a pod or gang was placed, or
what it waits for, oldest first.

Controllers and schedulers remember their last plans while they run, for the objects they looked at last.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from longshore.api.facts import kinds

if TYPE_CHECKING:
    from longshore.client.http import HttpClient

_KINDS = {
    "Job": ("job", "jobs", "jobs.batch"),
    "CronJob": ("cronjob", "cronjobs", "cj", "cronjobs.batch"),
    "Pod": ("pod", "pods", "po"),
    "PodGroup": ("podgroup", "podgroups", "pg"),
    "Volcano Job": ("vcjob", "vcjobs", "vj", "jobs.batch.volcano.sh"),
}
_SERVED = {
    "Pod": kinds.PODS,
    "PodGroup": kinds.POD_GROUPS,
    "Volcano Job": kinds.VOLCANO_JOBS,
}
_PLURALS = {"Volcano Job": "vcjobs"}
_SCHEDULED = ("Pod", "PodGroup")
"""Explained by the scheduler; the others by their controllers."""


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    parser.add_argument(
        "what",
        nargs="+",
        metavar="job/NAME|cronjob/NAME|vcjob/NAME|pod/NAME|podgroup/NAME",
        help="the object to explain: for pods and PodGroups, their node or what they wait for",
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.main import Failure
    from longshore.cli.server import connecting
    from longshore.client import Unreachable

    kind, name = _named(arguments.what)
    client = connecting.connect(arguments)
    try:
        print(asyncio.run(_explanation(client, arguments.namespace or client.namespace, kind, name)))
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
        "for a Volcano Job, pod/NAME for a pod, podgroup/NAME for a gang",
        2,
    )


async def _explanation(client: HttpClient, namespace: str, kind: str, name: str) -> str:
    from longshore.api import types
    from longshore.api.errors import StatusError
    from longshore.cli.main import Failure
    from longshore.plane import why_page

    async with client:
        answer = await client.request(
            "GET", why_page.path(namespace, _PLURALS.get(kind, f"{kind.lower()}s"), name)
        )
        if answer.code == 404:
            who = "scheduler" if kind in _SCHEDULED else f"{kind} controller"
            raise Failure(f"no {who} runs in this server: only longshore up can say why")
        if answer.code != 200:
            raise Failure(str(StatusError.from_status(types.decode(answer.body), answer.code)))
        plans = types.decode(answer.body)["plans"]
        try:
            found = await client.get(_SERVED.get(kind, ("batch/v1", kind)), name, namespace)
        except StatusError as err:
            if err.code != 404 or not plans:
                raise Failure(str(err)) from None
            found = {"metadata": {}, "spec": {}}
        gang = await _gang(client, namespace, found) if kind == "Volcano Job" else []
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


async def _gang(client: HttpClient, namespace: str, job: dict[str, Any]) -> list[dict[str, Any]]:
    """The scheduler's reasons for the Job's PodGroup; empty if the PodGroup waits for nothing, or for
    another scheduler.
    """
    from longshore.api import types
    from longshore.plane import why_page

    if (job.get("status") or {}).get("state", {}).get("phase") not in ("Pending", "Restarting"):
        return []
    name = f"{job['metadata']['name']}-{job['metadata']['uid']}"
    answer = await client.request("GET", why_page.path(namespace, "podgroups", name))
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
