"""Tells what happened to a Job, a pod or another object, and why: newest last, with times, numbers, the rule,
and what is next.

longshore why job/convert
longshore why pod/convert-7-x9p2k --watch
longshore why job/convert job/resize
longshore why cronjob/nightly -o json

longshore keeps its reasons for a week, also those of objects that are gone, and of throw-away runs
(`longshore run` without an `up`). Of another server the story is
made from its objects and events, which say less.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.server import connecting
from longshore.why import kinds, text

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server
    from longshore.why.kinds import Kind

_MAX_LINES: Final = 60
"""Lines of a story that are shown without --all."""
_WATCH_SECONDS: Final = 1.0


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="+",
        metavar="KIND/NAME",
        help="a job, cronjob, vcjob, cronvcjob, pod, podgroup, queue, jobflow, pvc, pv or namespace",
    )
    parser.add_argument("-w", "--watch", action="store_true", help="keep running, and print new lines")
    parser.add_argument("--all", action="store_true", help=f"all lines, not only the last {_MAX_LINES}")
    parser.add_argument("-o", "--output", choices=("json",), help="print the story as a document")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.running import place
    from longshore.client.errors import Unreachable

    wanted = _named(arguments.what)
    if arguments.watch and len(wanted) > 1:
        raise Failure("--watch follows one object: name one", 2)
    here = place.running(arguments.kubeconfig, arguments.context) is None and not arguments.context
    if here and (kept := _kept(wanted)):
        _print(kept, arguments)
        return 0
    try:
        with closing(connecting.server(arguments)) as server:
            if arguments.watch:
                return _watch(server, *wanted[0])
            told = {f"{kind.word}/{name}": document(server, kind, name) for kind, name in wanted}
            _print(told, arguments)
    except Unreachable as err:
        raise Failure(str(err)) from None
    except StatusError as err:
        if err.code == 404 and (kept := _kept(wanted)):
            _print(kept, arguments)
            return 0
        raise Failure(str(err)) from None
    return 0


def _kept(wanted: Sequence[tuple[Kind, str]]) -> dict[str, Obj]:
    """The kept stories of throw-away runs of these names; empty unless all of them are kept."""
    from longshore.cli.kept import run_records

    told = {}
    for kind, name in wanted:
        found = run_records.find(f"{kind.word}/{name}")
        if found is None or found[1] is None or not found[1].story:
            return {}
        told[f"{kind.word}/{name}"] = found[1].story
    return told


def _named(words: list[str]) -> list[tuple[Kind, str]]:
    """The kinds and names: `job/a pod/b`, or `job a b`."""
    if "/" in words[0]:
        return [_one(*word.partition("/")[::2]) for word in words]
    return [_one(words[0], name) for name in words[1:] or [""]]


def _one(word: str, name: str) -> tuple[Kind, str]:
    kind = kinds.named(word)
    if kind is None:
        known = ", ".join(kinds.KINDS)
        raise Failure(
            f"why knows no kind {word!r}: write KIND/NAME, as job/convert; the kinds are {known}", 2
        )
    if not name or "/" in name:
        raise Failure(
            f"which {kind.title}? Write {kind.word}/NAME; there are those of: longshore get {kind.word}", 2
        )
    return kind, name


def document(server: Server, kind: Kind, name: str) -> Obj:
    """The story from longshore itself or, for another server, from what can be read there."""
    from longshore.api import types
    from longshore.cli.server.requests import escaped, refusal

    answer = server.request("GET", kind.explanation(server.namespace, escaped(name)))
    if answer.code == 200:
        found: Obj = types.decode(answer.body)
        return found
    if answer.code == 404 and not answer.body.lstrip().startswith(b"{"):
        return _story_from_objects(server, kind, name)
    raise refusal(answer)


def _story_from_objects(server: Server, kind: Kind, name: str) -> Obj:
    """The story of an object on a server that keeps no reasons, from its objects and events."""
    from longshore.why.observe import observe
    from longshore.why.tell import tell

    namespace = server.namespace if kind.namespaced else ""
    story = tell(observe(ReadableApi(server), kind, namespace, name, now=time.time()))
    if story is None:
        raise errors.not_found(kind.group, kind.plural, name)
    return story.document()


def _print(told: dict[str, Obj], arguments: Namespace) -> None:
    """Prints a single story alone, and several each under its name, as `logs` does for several pods."""
    import json

    from longshore.cli.printing import objects

    stories = list(told.values())
    if arguments.output == "json":
        print(json.dumps(stories[0] if len(stories) == 1 else objects.as_list(stories), indent=2))
        return
    for name, story in told.items():
        if len(told) > 1:
            print(f"==> {name} <==")
        print("\n".join(_text(story, 0 if arguments.all else _MAX_LINES)))


def _text(story: Obj, most: int) -> list[str]:
    from datetime import UTC, datetime

    return text.lines(story, None, datetime.now(UTC), most)


def _watch(server: Server, kind: Kind, name: str) -> int:
    """Prints the story, then each line that is new, until the object has ended or is gone."""
    shown: list[str] = []
    while True:
        story = document(server, kind, name)
        told = _text({**story, "now": [], "next": []}, 0)
        for line in _new(shown, told):
            print(line, flush=True)
        shown = told
        if story["about"]["gone"] or _is_over(story):
            print("\n".join(_text({**story, "story": []}, 0)), flush=True)
            return 0
        time.sleep(_WATCH_SECONDS)


def _new(shown: Sequence[str], told: Sequence[str]) -> Sequence[str]:
    """The lines after those that were shown; a line is shown again if its count has grown."""
    same = 0
    while same < len(shown) and same < len(told) and shown[same] == told[same]:
        same += 1
    return told[same:]


def _is_over(story: dict[str, Any]) -> bool:
    return any(words.startswith("nothing:") for words in story["next"])


class ReadableApi:
    """A `why.observe.Api` over the network. A kind that the server does not know has no objects."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        from longshore.cli.server.requests import escaped

        return self._read(f"{_collection(kind, namespace)}/{escaped(name)}")

    def list(self, kind: Kind, namespace: str) -> Sequence[Obj]:
        try:
            return _listed(self._read(_collection(kind, namespace)))
        except StatusError as err:
            if err.code == 403 and not namespace:  # nodes and other namespaces only add to a story
                return ()
            raise

    def events(self, namespace: str, kind: str, name: str) -> Sequence[Obj]:
        wanted = f"involvedObject.kind={kind},involvedObject.name={name}"
        return _listed(self._read(f"/api/v1/namespaces/{namespace}/events", fieldSelector=wanted))

    def _read(self, path: str, **query: str) -> Obj | None:
        with errors.tolerated(404):
            return self._server.json("GET", path, query=query)
        return None


def _collection(kind: Kind, namespace: str) -> str:
    return f"{kind.root}/namespaces/{namespace}/{kind.plural}" if namespace else f"{kind.root}/{kind.plural}"


def _listed(found: Obj | None) -> Sequence[Obj]:
    items: Sequence[Obj] = found["items"] if found is not None else ()
    return items
