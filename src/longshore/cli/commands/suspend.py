"""Suspends Jobs and CronJobs: until they are resumed, a Job stops its pods and a CronJob starts nothing.

longshore suspend job/pi cronjob/nightly
longshore suspend nightly                    the Job or CronJob of this name
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments import targets
from longshore.cli.arguments.targets import Target
from longshore.cli.main import Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.arguments.kinds import Kinds
    from longshore.cli.server.requests import Server

INTERMIXED = True
_KINDS = (("batch", "Job"), ("batch", "CronJob"))


def add_arguments(parser: ArgumentParser) -> None:
    targets.add_arguments(parser)


def run(arguments: Namespace) -> int:
    switch(arguments, suspend=True)
    return 0


def switch(arguments: Namespace, *, suspend: bool) -> list[tuple[str, str, str]]:
    """Sets `spec.suspend` of every object named. Returns kind, namespace and name of each."""
    from longshore.cli.arguments import kinds

    word = "suspended" if suspend else "resumed"
    seen: list[tuple[str, str, str]] = []
    with connecting.opened(arguments) as server:
        for target in _targets(server, kinds.discover(server), arguments):
            if (target.kind.group, target.kind.kind) not in _KINDS:
                raise Said(f"error: {target.kind.many} cannot be {word}: only Jobs and CronJobs can", 2)
            for obj in targets.found(server, target, arguments):
                meta = obj["metadata"]
                seen.append((target.kind.kind, meta["namespace"], meta["name"]))
                if bool(obj["spec"].get("suspend")) == suspend:
                    print(f"{target.kind.one}/{meta['name']} unchanged")
                    continue
                path = target.kind.path(meta["namespace"], meta["name"])
                patch = {"spec": {"suspend": suspend}}
                server.json("PATCH", path, body=patch, content_type="application/merge-patch+json")
                print(f"{target.kind.one}/{meta['name']} {word}")
    return seen


def _targets(server: Server, kinds: Kinds, arguments: Namespace) -> list[Target]:
    """The objects that are named. If the first word is no kind, the words are names of Jobs and CronJobs."""
    words = arguments.words
    types = words[0].split(",") if words else []
    if not words or any("/" in word for word in words) or any(map(kinds.named, types)):
        return targets.chosen(server, arguments, kinds)
    if any(map(kinds.in_category, types)) or getattr(arguments, "all_namespaces", False):
        return targets.chosen(server, arguments, kinds)
    return [_named(server, kinds, name) for name in words]


def _named(server: Server, kinds: Kinds, name: str) -> Target:
    from longshore.cli.server.requests import refusal

    found = []
    for kind in kinds.rows:
        if (kind.group, kind.kind) in _KINDS:
            target = Target(kind, name, server.namespace)
            answer = server.request("GET", target.path)
            if answer.code == 200:
                found.append(target)
            elif answer.code != 404:
                raise refusal(answer)
    if not found:
        raise Said(f'error: there is no Job and no CronJob "{name}" in namespace "{server.namespace}"')
    if len(found) > 1:
        raise Said(f"error: there are {' and '.join(each.text for each in found)}: name one of them so", 2)
    return found[0]
