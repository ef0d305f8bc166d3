"""Refuses runs whose containers have nothing to run, before anything is created.

A container without a command takes that of its image. The server says what images mean to it; one that says
nothing about it (another cluster, podman) is left to judge by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from longshore.api import types
from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.running import pod_templates
from longshore.cli.running.place import Place
from longshore.client import Unreachable
from longshore.node.images.image_table import Row, Table, no_command
from longshore.up import image_page


async def refuse(place: Place, wanted: Iterable[tuple[Obj, str]]) -> None:
    """Raises Failure for the first container that has no command and an image of which nobody said one.
    `wanted` are objects and their sources, which the server has found to be in order."""
    bare = [(container, source) for obj, source in wanted for container in _without_command(obj)]
    table = await _table(place) if bare else None
    if table is None:
        return
    for container, source in bare:
        row = table.find(container["image"])
        if row is None or not (row.entry.command or row.entry.args):
            raise Failure(f"{source}: {no_command(container['name'], container['image'], row)}", 2)


def _without_command(obj: Obj) -> Iterator[Obj]:
    """The containers of an object's pods that take a command from their image, by the default engine."""
    templates: list[Obj] = []

    def note(template: Obj) -> Obj:
        templates.append(template)
        return template

    pod_templates.changed(obj, note)
    for template in templates:
        spec: dict[str, Any] = template.get("spec") or {}
        if spec.get("runtimeClassName"):
            continue
        for part in ("initContainers", "containers"):
            for container in spec.get(part) or ():
                if not container.get("command") and not container.get("args"):
                    yield container


async def _table(place: Place) -> Table | None:
    """The images that the server's process engine knows; None where another engine runs pods."""
    try:
        answer = await place.http.request("GET", image_page.PREFIX)
    except Unreachable:
        return None
    if answer.code != 200:
        return None
    found = types.decode(answer.body)
    if found.get("runtime") != "process":
        return None
    return Table(msgspec.convert(found["items"], list[Row]))
