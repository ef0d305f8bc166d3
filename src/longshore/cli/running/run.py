"""One `longshore run`: its arguments become manifests, which a session follows to their end."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from argparse import Namespace
from pathlib import Path

from longshore.cli.arguments import manifest_files
from longshore.cli.main import Failure
from longshore.cli.printing import guarded_streams, objects
from longshore.cli.running import (
    each_items,
    place,
    placeholders,
    pod_templates,
    result_files,
    resuming,
    run_stopping,
    shorthand,
)
from longshore.cli.running.each_items import Items
from longshore.cli.running.place import Place
from longshore.cli.running.run_session import RunSession
from longshore.cli.server import refusals


async def main(arguments: Namespace) -> int:
    """Runs the manifests or the command of the arguments. Raises Failure for bad input."""
    if arguments.after_dashes:
        guarded_streams.release_output()  # the user's own command may print control characters
    logging.basicConfig(level=logging.ERROR, format="longshore: %(message)s")
    # What can be wrong with the input is found before anything is started.
    given = _items(arguments)
    if given is not None and not given.rows:
        print("there are no items, so there is nothing to run", file=sys.stderr)
        return 0
    if given is not None:
        _check_placeholders(placeholders.ItemCommand(arguments.after_dashes, given, raw=arguments.raw_items))
    manifests = _manifests(arguments.files) if arguments.files else []
    if arguments.files and not manifests:
        raise Failure("these files hold nothing to run", 2)
    if arguments.dry_run:
        wanted = _wanted(arguments, given, Path("ITEMS") if given else None)
        sys.stdout.write(objects.as_yaml(shorthand.job(wanted, os.environ, shorthand.directory())))
        return 0
    if arguments.results is not None:
        result_files.prepared(arguments.results)
    if arguments.failed_to is not None:
        each_items.check_failed_file(arguments.failed_to)
    if arguments.joblog is not None:
        result_files.begin_joblog(arguments.joblog, resume=arguments.resume)
    with refusals.as_failure():
        async with place.opened(arguments) as here:
            if manifests:
                return await RunSession(here, arguments).run(manifests, command=shlex.join(arguments.files))
            kept = each_items.keep(given, here.directory) if given is not None else None
            _check(arguments, here)
            return await _run_command(here, arguments, _wanted(arguments, given, kept))


async def _run_command(here: Place, arguments: Namespace, wanted: shorthand.WantedRun) -> int:
    job = shorthand.job(wanted, os.environ, shorthand.directory())
    session = RunSession(here, arguments, wanted)
    rest = await resuming.rest(here, job, wanted.items) if arguments.resume else resuming.Rest(job)
    if rest.complete:
        print(rest.said, file=sys.stderr)
        return 0
    if rest.suspended:
        session.say(rest.said)
        interrupted = run_stopping.interrupts()
        run = await resuming.let_go(here, rest.suspended, wanted.items)
        return await session.to_the_end([run], interrupted, [rest.said])
    manifest = manifest_files.Manifest(rest.job, "the command line")
    said = [rest.said] if rest.said else []
    command = shlex.join(arguments.after_dashes)
    return await session.run([manifest], done=rest.done, said=said, command=command)


def _check_placeholders(command: placeholders.ItemCommand) -> None:
    """Refuses an unknown placeholder, and an item that a shell would execute."""
    if problem := command.problem():
        raise Failure(problem, 2)
    if warning := command.warning():
        print(f"warning: {warning}", file=sys.stderr)


def _manifests(files: list[str]) -> list[manifest_files.Manifest]:
    """The objects in these files. Raises Failure, with the cure, for a command without the two dashes."""
    import shutil

    if not Path(files[0]).exists() and shutil.which(files[0]) is not None:
        told = f"{files[0]} is a program, not a manifest; a command comes after two dashes"
        raise Failure(f"{told}: longshore run -- {shlex.join(files)}", 2)
    return manifest_files.read(files)


def _items(arguments: Namespace) -> Items | None:
    if arguments.each_csv:
        given = each_items.from_csv(arguments.each_csv)
    elif arguments.each:
        given = each_items.from_lines(arguments.each, null=arguments.null)
    else:
        return None
    return each_items.shuffled(given) if arguments.shuffle else given


def _wanted(arguments: Namespace, given: Items | None, kept: Path | None) -> shorthand.WantedRun:
    return shorthand.WantedRun(
        arguments.after_dashes,
        isolation=arguments.isolation or shorthand.COMMAND_ISOLATION,
        completions=len(given.rows) if given is not None else arguments.completions or 1,
        parallelism=arguments.parallelism,
        retries=arguments.retries,
        name=arguments.name,
        env=arguments.env,
        env_all=arguments.env_all,
        items=given,
        raw_items=arguments.raw_items,
        items_file=str(kept or ""),
        cpu=arguments.cpu,
        memory=arguments.memory,
        fail_fast=arguments.fail_fast,
        timeout_each=arguments.timeout_each,
        backoff=arguments.backoff,
        interval=max(arguments.delay, arguments.limit_rate),
        unstartable=pod_templates.unstartable_seconds(arguments),
    )


def _check(arguments: Namespace, here: Place) -> None:
    """Refuses a command that does not exist, before it fails a hundred times."""
    import shutil

    program = arguments.after_dashes[0]
    given = dict(variable.partition("=")[::2] for variable in arguments.env if "=" in variable)
    if here.directory is not None and shutil.which(program, path=given.get("PATH")) is None:
        raise Failure(f"{program}: no such program, or no permission to run it", 2)
