"""Plays manifests on a virtual clock, with the real controllers: when would this finish, and what would wait?

longshore sim night.yaml --for 7d                     a table: Jobs, CronJobs, queues, nodes, and what to mind
longshore sim train.yaml --nodes 20 --node cpu=64,nvidia.com/gpu=8 -o html > night.html
longshore sim report.yaml --set job/report.spec.parallelism=4,8,16     side by side
longshore sim night.yaml --outcomes how.yaml --runs 100                p50 and p95 over a hundred seeds
longshore sim night.yaml --outcomes how.yaml --check                   exit 1 when an expectation is broken

Nothing runs and nothing is written. --outcomes says how pods go, as do annotations
(sim.longshore.dev/duration: 3m±20s) and past runs (--outcomes-from); other pods run for 60 s and succeed.
The same seed gives the same answer everywhere.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags
from longshore.cli.main import Failure
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.simulating.playing import Played
    from longshore.cli.simulating.question import Question

INTERMIXED = True
_COUNT = flags.whole("a number of 1 or more", 1)
_FORMS = "table|html|svg|json|timeline|trace"


_FLAGS = f"""
files* FILE             words       manifests: files, directories, URLs, - for standard input
--from-cluster          switch      also the Jobs, CronJobs, queues and nodes of a server; only reads
length: --for T         length      how long (default: until done; 1d with CronJobs)
--until WHEN            text        the end: a time such as 06:00, or done: as soon as nothing is left to do
--start TIME            text        2027-03-27T00:00 in the zone (default: the next midnight)
--zone ZONE             text        time zone of schedules and of times (default: this machine's)
--seed N                int=0       seed of the dice (default: 0)
--runs N                count=1     play N seeds, and show p50 and p95
--nodes N,N             counts      number of equal nodes (default: 1); several numbers are compared
--node AMOUNTS          text        capacity of a node: cpu=64,memory=256Gi,nvidia.com/gpu=8
--outcomes FILE         text        YAML file: how pods run and end, and what is expected
--outcomes-from FILE    text        past pods or history, as -o json prints them
changes: --set F=V,V    list        try values: job/x.spec.parallelism=4,8
--check                 switch      exit 1 when an expectation of the outcomes is broken
--output, -o {_FORMS}  {_FORMS}=table  the form of the answer
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, _FLAGS, length=_length, count=_COUNT, counts=_counts)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.api.errors import StatusError
    from longshore.cli.simulating import playing, question
    from longshore.sim import checks

    try:
        asked = question.read(arguments)
        if len(asked.variants) > 1 and arguments.output in playing.SINGLE:
            text = f"-o {arguments.output} shows one simulation: give one value to try, or take -o html"
            raise Failure(text, 2)
        played = _played(arguments, asked)
        sys.stdout.write(playing.text(arguments.output, played, arguments.files))
        broken = [
            f"with {each.words}: {said}" if each.words else said
            for each in played
            for result in each.results
            for said in checks.broken(result, asked.expect)
        ]
    except (ValueError, KeyError, StatusError) as err:
        text = f"lacks {err}" if isinstance(err, KeyError) else str(err)
        raise Failure(text, 2) from None
    for said in broken:
        print(f"broken: {said}", file=sys.stderr)
    if arguments.check and not asked.expect:
        raise Failure("--check needs an outcome file with expectations: see longshore sim --help", 2)
    return 1 if arguments.check and broken else 0


def _played(arguments: Namespace, asked: Question) -> list[Played]:
    """The results of every variant, one for each seed."""
    import logging

    from longshore.cli.simulating import playing
    from longshore.cli.simulating.playing import Played

    seeds = range(arguments.seed, arguments.seed + arguments.runs)
    logging.disable(logging.WARNING)  # the result lists failures of simulated nodes; the log need not
    try:
        found = playing.play([asked.settings(variant, seed) for variant in asked.variants for seed in seeds])
    finally:
        logging.disable(logging.NOTSET)
    return [
        Played(variant.words, found[number * len(seeds) : (number + 1) * len(seeds)])
        for number, variant in enumerate(asked.variants)
    ]


def _counts(text: str) -> list[int]:
    return [_COUNT(each) for each in text.split(",")]


def _length(text: str) -> float:
    from longshore.scripts import spreads
    from longshore.sim.settings import DAY_SECONDS, MAX_SECONDS

    try:
        found = spreads.seconds(text)
    except ValueError as err:
        raise ArgumentTypeError(str(err)) from None
    if not 0 < found <= MAX_SECONDS:
        most = f"{MAX_SECONDS / DAY_SECONDS:g}d"
        raise ArgumentTypeError(f"{text!r} is no time to simulate: more than 0s, and at most {most}")
    return found
