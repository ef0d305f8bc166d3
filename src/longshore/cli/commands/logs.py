"""Prints the logs of containers, as kubectl logs does.

longshore logs pi-0 -f                     one pod
longshore logs job/pi                      one pod of a Job; all of them with --all-pods
longshore logs -l app=pi --prefix          all pods with a label
longshore logs --failed job/pi             pods that failed, also after they are gone
longshore logs cronjob/nightly             the latest run of a CronJob; all of them with --all
longshore logs --failed cronjob/nightly    failed pods of the latest run that failed
longshore logs convert                     a throw-away run of longshore run, see longshore history
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import TYPE_CHECKING, Final

from longshore.cli.arguments import flags
from longshore.cli.main import Failure, Said
from longshore.cli.printing import guarded_streams
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

INTERMIXED = True
_SELECTED_TAIL_LINES = 10


_FLAGS: Final = """
words* POD | TYPE/NAME   words         the pod, or the owner of pods
--selector, -l S         text          logs of all pods with these labels
--container, -c C        text          default: the first one
--all-containers         switch        logs of all containers
--all-pods               switch        logs of all pods of a Job
--all                    switch        logs of all runs of a CronJob, the oldest first
--follow, -f             switch        follow the output
--previous, -p           switch        logs from before the last restart
--failed                 switch        logs of failed pods, also after their deletion
--tail N                 int           the last N lines (default: all; 10 of each with -l)
--since T                seconds       not older than 5s, 2m, 3h
--since-time T           text          after this RFC 3339 time
--limit-bytes N          int           no more than N bytes
--timestamps             switch        with the time of each line
--prefix                 switch        with pod and container on each line
--raw                    switch        do not escape control sequences on a terminal
--ignore-errors          switch        continue if a container has no output
--max-log-requests N     int=5         with -f, follow at most N logs (default: 5)
--pod-running-timeout T  seconds=20.0  wait so long for a pod (default: 20s)
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, _FLAGS)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.api.errors import StatusError
    from longshore.cli.server import refusals

    if bool(arguments.words) == bool(arguments.selector):
        raise Failure("name a pod, as NAME or TYPE/NAME, or give a selector with -l", 2)
    if arguments.all_containers and arguments.container:
        raise Said("error: --all-containers=true should not be specified with container name", 2)
    if len(arguments.words) == 2 and not arguments.container and "/" not in arguments.words[1]:
        arguments.container = arguments.words.pop()
    if len(arguments.words) > 1:
        raise Failure("name one object: POD or TYPE/NAME", 2)
    from longshore.cli.running import place

    if arguments.raw:
        guarded_streams.release_output()
    here = place.running(arguments.kubeconfig, arguments.context) is None and not arguments.context
    if here and arguments.words and (code := _kept(arguments)) is not None:
        return code
    try:
        server = connecting.server(arguments)
    except Failure as err:
        if not here or not arguments.words:
            raise
        told = f"no run named {arguments.words[0]} is kept, see: longshore history"
        raise Failure(f"{told}; and {err}", 2) from None
    with refusals.as_failure(), closing(server):
        try:
            return _served(server, arguments)
        except StatusError as err:
            if err.code == 404 and arguments.words and (code := _kept(arguments)) is not None:
                return code
            raise


def _kept(arguments: Namespace) -> int | None:
    """Prints the logs of the throw-away run of this name. Returns None if there is no such run."""
    from longshore.cli.kept import kept_logs, run_records

    found = run_records.find(arguments.words[0])
    return kept_logs.show(*found, arguments) if found is not None else None


def _served(server: Server, arguments: Namespace) -> int:
    from longshore.cli.showing import log_tail

    if runs := _runs_of_cronjob(server, arguments):
        codes = []
        for run in runs:
            if not arguments.failed:  # with --failed each pod has a header of its own
                print(f"==> {run} <==", file=sys.stderr, flush=True)
            arguments.words, arguments.all = [run], False
            codes.append(_served(server, arguments))
            sys.stdout.flush()
        return max(codes)
    if arguments.all:
        raise Failure("--all is for the runs of a CronJob; --all-pods for all pods of a Job", 2)
    if arguments.failed:
        from longshore.cli.kept import kept_logs

        return kept_logs.show_failed(server, arguments)
    pods = _pods(server, arguments)
    sources = [source for pod in pods for source in log_tail.sources(pod, arguments)]
    if arguments.follow and len(sources) > arguments.max_log_requests:
        raise Said(
            f"error: you are attempting to follow {len(sources)} log streams, but maximum allowed "
            f"concurrency is {arguments.max_log_requests}, use --max-log-requests to increase the limit"
        )
    return log_tail.show(server, sources, _query(arguments), arguments)


def _query(arguments: Namespace) -> dict[str, str]:
    query: dict[str, str] = {}
    for flag in ("follow", "previous", "timestamps"):
        if getattr(arguments, flag):
            query[flag] = "true"
    tail = arguments.tail
    if tail is None and arguments.selector and not arguments.follow:
        tail = _SELECTED_TAIL_LINES
    if tail is not None and tail >= 0:
        query["tailLines"] = str(tail)
    if arguments.since is not None:
        query["sinceSeconds"] = str(max(1, round(arguments.since)))
    if arguments.since_time:
        query["sinceTime"] = arguments.since_time
    if arguments.limit_bytes:
        query["limitBytes"] = str(arguments.limit_bytes)
    return query


def _pods(server: Server, arguments: Namespace) -> list[Obj]:
    from longshore.cli.arguments import pod_choice

    if arguments.selector:
        found = pod_choice.matching(server, arguments.selector)
        if not found:
            print(f"No resources found in {server.namespace} namespace.", file=sys.stderr)
        return found
    (word,) = arguments.words
    if arguments.all_pods:
        return pod_choice.named(server, word, arguments.pod_running_timeout)
    return [pod_choice.one(server, word, arguments.pod_running_timeout)]


# Deleted Jobs of a CronJob count with `--failed`: the server keeps how they ended, and the node what their
# failed pods wrote.

_CRONJOBS: Final = ("cj", "cronjob", "cronjob.batch", "cronjobs", "cronjobs.batch")


def _runs_of_cronjob(server: Server, arguments: Namespace) -> list[str]:
    """`job/NAME` of each run of the CronJob that the arguments name: the latest; with `--failed` the latest
    that failed; with `--all` all, the oldest first. Empty if they name no CronJob. Raises Said if it has no
    run."""
    kind, _, name = arguments.words[0].rpartition("/") if arguments.words else ("", "", "")
    if kind not in _CRONJOBS:
        return []
    import json

    from longshore.api.facts import job_state
    from longshore.api.facts.owners import controller_of
    from longshore.api.time import rfc3339
    from longshore.cli.server.requests import escaped

    where = f"namespaces/{escaped(server.namespace)}"
    server.json("GET", f"/apis/batch/v1/{where}/cronjobs/{escaped(name)}")
    runs: dict[str, str] = {}
    for job in server.json("GET", f"/apis/batch/v1/{where}/jobs")["items"]:
        owner = controller_of(job)
        if owner is not None and (owner["kind"], owner["name"]) == ("CronJob", name):
            end = job_state.end_of(job)
            if not arguments.failed or (end is not None and end["type"] == "Failed"):
                runs[job["metadata"]["name"]] = job["metadata"]["creationTimestamp"]
    if arguments.failed:
        answer = server.request("GET", f"/apis/longshore.dev/v1/{where}/finishedjobs")
        for record in json.loads(answer.body)["items"] if answer.code == 200 else ():
            if record.get("owner") == f"CronJob/{name}" and record["result"] == "failed":
                runs.setdefault(record["job"], record.get("startTime") or record["endTime"])
    if not runs:
        raise Said(f"error: no {'failed ' if arguments.failed else ''}run of cronjob/{name} is known")
    ordered = sorted(runs, key=lambda job: (rfc3339.parse(runs[job]), job))
    return [f"job/{job}" for job in (ordered if arguments.all else ordered[-1:])]
