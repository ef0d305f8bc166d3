"""Volcano's own command line, a row for each command: nouns with verbs as in `vcctl`, and the programs
`vsub`, `vjobs`, `vqueues`, `vcancel`, `vsuspend` and `vresume` as `vc-…`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING, Final

from longshore.cli.volcano import flows, jobs, queues, vcctl
from longshore.cli.volcano.vcctl import Command, Verb

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server


def _view(server: Server, arguments: Namespace) -> str:
    from longshore.cli.volcano import viewing

    return viewing.view(server, arguments)


def _jobs_flags(parser: ArgumentParser) -> None:
    jobs.list_flags(parser, swapped=True)
    parser.add_argument("--name", "-n", default="", metavar="NAME", help="show all about this job")


def _jobs(server: Server, arguments: Namespace) -> str:
    return (_view if arguments.name else jobs.list_)(server, arguments)


_ONE_JOB: Final = partial(jobs.one_flags, swapped=True)
_JOB_VERBS: Final = {
    "run": Verb("run a job", jobs.run_flags, jobs.run),
    "list": Verb("show all jobs", jobs.list_flags, jobs.list_),
    "view": Verb("show all about one job", jobs.one_flags, _view),
    "suspend": Verb("stop a job until it is resumed", jobs.one_flags, jobs.suspend),
    "resume": Verb("let a job go on", jobs.one_flags, jobs.resume),
    "delete": Verb("delete a job", jobs.one_flags, jobs.delete),
}
_QUEUE_VERBS: Final = {
    "create": Verb("make a queue", queues.create_flags, queues.create),
    "list": Verb("show all queues", queues.no_flags, queues.list_),
    "get": Verb("show one queue", queues.one_flags, queues.get),
    "operate": Verb("open, close or weigh a queue", queues.operate_flags, queues.operate),
    "delete": Verb("delete a queue", queues.one_flags, queues.delete),
}
_POD_VERBS: Final = {"list": Verb("show the pods of jobs", jobs.pods_flags, jobs.pods)}

_JOB: Final = """\
Runs, shows and stops Volcano Jobs, as `vcctl job` does. For plain Jobs, use `longshore get jobs`.

longshore job run -N train -i trainer:1 -r 4 -m 4
longshore job list -q gpu
longshore job view -N train
longshore job suspend -N train
longshore job resume -N train
"""
_QUEUE: Final = """\
Makes, shows, opens and closes Volcano's queues, as `vcctl queue` does.

longshore queue create -n gpu -w 2
longshore queue list
longshore queue operate -n gpu -a close
"""
_FLOW: Final = """\
Makes, shows and deletes Volcano's {kind}s, as `vcctl {word}` does.

longshore {word} create -f {word}s.yaml
longshore {word} list --all-namespaces
longshore {word} describe -N build -o json
"""
_POD: Final = """\
Shows the pods of Volcano Jobs and queues, as `vcctl pod` does. For all pods, use `longshore get pods`.

longshore pod list -j train
longshore pod list -q gpu --all-namespaces
"""
_SUB: Final = """\
Submits a Volcano Job, as `vsub` does: `longshore job run` with `-n` for the name, and a command.

VOLCANO_DEFAULT_IMAGE, VOLCANO_DEFAULT_JOB_NAMESPACE and VOLCANO_SCHEDULER_NAME stand in for flags that are
not given.

longshore vc-sub -n train -i trainer:1 -r 4 -m 4 -c 'python train.py --epochs 3'
"""
_JOBS: Final = """\
Lists Volcano Jobs, or shows the one that `-n` names, as `vjobs` does.

longshore vc-jobs -q gpu
"""
_QUEUES: Final = """\
Lists queues, or shows the one that `-n` names, as `vqueues` does.

longshore vc-queues
"""
_CANCEL: Final = """\
Deletes a Volcano Job, as `vcancel` does.

longshore vc-cancel -n train
"""
_SUSPEND: Final = """\
Stops a Volcano Job until it is resumed, as `vsuspend` does.

longshore vc-suspend -n train
"""
_RESUME: Final = """\
Lets a Volcano Job go on, as `vresume` does.

longshore vc-resume -n train
"""

COMMANDS: Final[dict[str, Command]] = {
    "job": vcctl.command(_JOB, "job", _JOB_VERBS),
    "queue": vcctl.command(_QUEUE, "queue", _QUEUE_VERBS),
    **{
        noun.word: vcctl.command(_FLOW.format(kind=noun.kind, word=noun.word), noun.word, noun.verbs())
        for noun in (flows.FLOWS, flows.TEMPLATES)
    },
    "pod": vcctl.command(_POD, "pod", _POD_VERBS),
    "vc-sub": vcctl.alone(_SUB, "run", jobs.sub_flags, jobs.run),
    "vc-jobs": vcctl.alone(_JOBS, "list", _jobs_flags, _jobs),
    "vc-queues": vcctl.alone(_QUEUES, "get", queues.one_flags, queues.vqueues),
    "vc-cancel": vcctl.alone(_CANCEL, "cancel", _ONE_JOB, jobs.delete),
    "vc-suspend": vcctl.alone(_SUSPEND, "suspend", _ONE_JOB, jobs.suspend),
    "vc-resume": vcctl.alone(_RESUME, "resume", _ONE_JOB, jobs.resume),
}
"""Each command by its name."""
