"""The objects a command acts on: `TYPE NAME…`, `TYPE/NAME…`, lists with commas, selectors, files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, NamedTuple

from longshore.cli.arguments import flags
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Failure, Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments import manifest_files
    from longshore.cli.arguments.kinds import Kind, Kinds
    from longshore.cli.server.requests import Server


class Target(NamedTuple):
    """One object, or with an empty name all objects of a kind (in every namespace if that is empty too)."""

    kind: Kind
    name: str
    namespace: str

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace, self.name)

    @property
    def text(self) -> str:
        """The object as `job.batch/x`."""
        return f"{self.kind.one}/{self.name}"

    def of(self, obj: Obj) -> Target:
        """The target of one object of this kind."""
        return self._replace(name=obj["metadata"]["name"], namespace=obj["metadata"].get("namespace", ""))


def add_arguments(parser: ArgumentParser, *, everywhere: bool = True) -> None:
    """Adds names, files and selectors. `everywhere` is False if all namespaces at once make no sense."""
    flags.table(parser, "words* TYPE NAME… | TYPE/NAME…  words  the objects")
    flags.files(parser, "the objects in this file or directory")
    flags.selector(parser)
    flags.table(parser, "--field-selector S  text  only objects with these field values")
    if everywhere:
        switch(parser, "--all-namespaces", "-A", help="in all namespaces")
    connecting.add_arguments(parser)


def selectors(arguments: Namespace) -> dict[str, str]:
    """The query parameters for the selectors in the arguments."""
    given = {"labelSelector": arguments.selector, "fieldSelector": getattr(arguments, "field_selector", "")}
    return {key: value for key, value in given.items() if value}


def found(server: Server, target: Target, arguments: Namespace) -> list[Obj]:
    """The object of a target's name; without a name, all objects that the selectors match."""
    answer = server.json("GET", target.path, query={} if target.name else selectors(arguments))
    return [answer] if target.name else answer["items"]


def chosen(server: Server, arguments: Namespace, known: Kinds | None = None) -> list[Target]:
    """The targets that the arguments name, in their order. Raises Failure when they name none."""
    from longshore.cli.arguments.kinds import discover

    kinds = known or discover(server)
    namespace = "" if getattr(arguments, "all_namespaces", False) else server.namespace
    if arguments.filename:
        if arguments.words:
            raise Failure("give either files or names, not both", 2)
        return of_files(server, kinds, arguments)
    if not arguments.words:
        raise Failure("name a resource: TYPE, TYPE NAME or TYPE/NAME; or a file with -f", 2)
    named = parse(kinds, arguments.words, namespace)
    if not namespace and any(target.name and target.kind.namespaced for target in named):
        raise Said("error: a resource cannot be retrieved by name across all namespaces")
    if (arguments.selector or arguments.field_selector) and any(target.name for target in named):
        raise Said("error: name cannot be provided when a selector is specified")
    return named


def of_files(server: Server, kinds: Kinds, arguments: Namespace) -> list[Target]:
    """The objects in files; with a selector, only those whose manifests match it."""
    from longshore.cli.arguments import manifest_files

    targets = []
    found = manifest_files.read(arguments.filename, recursive=arguments.recursive)
    for manifest in manifest_files.selected(found, arguments.selector):
        kind = kind_of(kinds, manifest)
        meta = manifest.obj["metadata"]
        if not meta.get("name"):
            raise Said(f"error: {manifest.source}: metadata.name: a name is needed here", 2)
        targets.append(Target(kind, meta["name"], place(server, kind, manifest, arguments.namespace)))
    return targets


def kind_of(kinds: Kinds, manifest: manifest_files.Manifest) -> Kind:
    found = kinds.of(manifest.obj)
    if found is None:
        kind, version = manifest.obj["kind"], manifest.obj["apiVersion"]
        raise Said(
            f'error: resource mapping not found for name: "{manifest.obj["metadata"].get("name", "")}" '
            f'namespace: "{manifest.obj["metadata"].get("namespace", "")}" from "{manifest.source}": '
            f'no matches for kind "{kind}" in version "{version}"'
        )
    return found


def place(server: Server, kind: Kind, manifest: manifest_files.Manifest, asked: str) -> str:
    """The namespace of a manifest's object. Refuses an object whose namespace contradicts -n."""
    if not kind.namespaced:
        return ""
    own: str = manifest.obj["metadata"].get("namespace") or ""
    if own and asked and own != asked:
        raise Said(
            "error: the namespace from the provided object "
            f'"{own}" does not match the namespace "{asked}". '
            f"You must pass '--namespace={own}' to perform this operation."
        )
    return own or server.namespace


def parse(kinds: Kinds, words: list[str], namespace: str) -> list[Target]:
    """Parses `jobs,cj`, `job a b` or `job/a pod/b`."""
    if any("/" in word for word in words):
        found = []
        for word in words:
            type, slash, name = word.partition("/")
            if not slash or not type or not name or "/" in name:
                raise Said(
                    "error: there is no need to specify a resource type as a separate argument when passing "
                    f"arguments in resource/name form (e.g. 'longshore get resource/{words[0]}')"
                )
            found += [_target(kind, name, namespace) for kind in _kinds(kinds, type)]
        return found
    rows = [kind for word in words[0].split(",") if word for kind in _kinds(kinds, word)]
    return [_target(kind, name, namespace) for kind in rows for name in words[1:] or [""]]


def _kinds(kinds: Kinds, word: str) -> list[Kind]:
    one = kinds.named(word)
    found = [one] if one is not None else kinds.in_category(word)
    if not found:
        raise Said(f'error: the server doesn\'t have a resource type "{word}"')
    return found


def _target(kind: Kind, name: str, namespace: str) -> Target:
    return Target(kind, name, namespace if kind.namespaced else "")
