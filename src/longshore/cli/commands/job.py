"""Runs, shows and stops Volcano Jobs, as `vcctl job` does. For plain Jobs, use `longshore get jobs`.

longshore job run -N train -i trainer:1 -r 4 -m 4
longshore job list -q gpu
longshore job view -N train
longshore job suspend -N train
longshore job resume -N train
"""

from __future__ import annotations

from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import Verb


def verbs() -> dict[str, Verb]:
    """The verbs of `longshore job`, by name."""
    from longshore.cli.volcano import jobs, viewing

    return {
        "run": Verb("run a job", jobs.run_flags, jobs.run),
        "list": Verb("show all jobs", jobs.list_flags, jobs.list_),
        "view": Verb("show all about one job", jobs.one_flags, viewing.view),
        "suspend": Verb("stop a job until it is resumed", jobs.one_flags, jobs.suspend),
        "resume": Verb("let a job go on", jobs.one_flags, jobs.resume),
        "delete": Verb("delete a job", jobs.one_flags, jobs.delete),
    }


add_arguments, run = vcctl.command("job", verbs)
