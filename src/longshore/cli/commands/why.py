"""Says in words why longshore up's Job controller did what it did: its last plans for a Job, oldest first.

The controller remembers them while it runs, as long as the Job is among the last it looked at.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longshore.client.http import HttpClient

_JOB = ("job", "jobs", "jobs.batch")


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli import connecting

    parser.add_argument("what", nargs="+", metavar="job/NAME", help="the Job to explain")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli import connecting
    from longshore.cli.main import Failure
    from longshore.client import Unreachable

    name = _name(arguments.what)
    client = connecting.connect(arguments)
    try:
        print(asyncio.run(_explanation(client, arguments.namespace or client.namespace, name)))
    except Unreachable as err:
        raise Failure(str(err)) from None
    return 0


def _name(words: list[str]) -> str:
    from longshore.cli.main import Failure

    kind, slash, name = " ".join(words).replace(" ", "/", 1).partition("/")
    if kind not in _JOB or not slash or not name or "/" in name or " " in name:
        raise Failure(f"{' '.join(words)!r} is not a Job: name it as job/NAME", 2)
    return name


async def _explanation(client: HttpClient, namespace: str, name: str) -> str:
    from longshore.api import types
    from longshore.api.errors import StatusError
    from longshore.cli.main import Failure
    from longshore.up import explained

    async with client:
        answer = await client.request("GET", explained.path(namespace, "jobs", name))
        if answer.code == 404:
            raise Failure("no Job controller runs in this server: only longshore up can say why")
        if answer.code != 200:
            raise Failure(str(StatusError.from_status(types.decode(answer.body), answer.code)))
        plans = types.decode(answer.body)["plans"]
        try:
            job = await client.get(("batch/v1", "Job"), name, namespace)
        except StatusError as err:
            if err.code != 404 or not plans:
                raise Failure(str(err)) from None
            job = {"metadata": {}, "spec": {}}
    uid, manager = job["metadata"].get("uid"), job["spec"].get("managedBy")
    if not plans:
        if manager:
            raise Failure(f"Job {name!r} is managed by {manager}: longshore leaves it alone")
        raise Failure(f"Job {name!r} was not looked at since longshore started, or too long ago")
    return "\n".join(line for plan in plans for line in _lines(plan, uid))


def _lines(plan: dict[str, Any], uid: str | None) -> list[str]:
    title = plan["at"]
    if plan["times"] > 1:
        title += f" (for the {_ordinal(plan['times'])} time)"
    if plan["uid"] != uid:
        title += ", for an earlier Job of this name" if uid else ", for a Job that is gone"
    lines = [title, *(f"  {reason}" for reason in plan["why"] or ["nothing to do"])]
    if "problem" in plan:
        lines.append(f"  but: {plan['problem']}")
    return lines


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
