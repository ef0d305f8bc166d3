"""Suspends Jobs and CronJobs: until they are resumed, a Job stops its pods and a CronJob starts nothing.

longshore suspend job/pi cronjob/nightly
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

INTERMIXED = True
_KINDS = {("batch", "Job"), ("batch", "CronJob")}


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import targets

    targets.add_arguments(parser)


def run(arguments: Namespace) -> int:
    switch(arguments, suspend=True)
    return 0


def switch(arguments: Namespace, *, suspend: bool) -> list[tuple[str, str, str]]:
    """Sets `spec.suspend` of every object named. Returns kind, namespace and name of each."""
    from longshore.cli.arguments import kinds, targets
    from longshore.cli.main import Said
    from longshore.cli.server import connecting, refusals

    word = "suspended" if suspend else "resumed"
    seen: list[tuple[str, str, str]] = []
    with refusals.told():
        server = connecting.server(arguments)
        for target in targets.chosen(server, kinds.discover(server), arguments):
            if (target.kind.group, target.kind.kind) not in _KINDS:
                raise Said(f"error: {target.kind.many} cannot be {word}: only Jobs and CronJobs can", 2)
            if target.name:
                found = [server.json("GET", target.path)]
            else:
                query = {"labelSelector": arguments.selector, "fieldSelector": arguments.field_selector}
                given = {key: value for key, value in query.items() if value}
                found = server.json("GET", target.path, query=given)["items"]
            for obj in found:
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
