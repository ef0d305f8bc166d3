"""JobFlows and JobTemplates, which have the same verbs: create, list, get, describe, delete."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longshore.api.time import ages
from longshore.cli.printing import columns
from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import FLOW, Verb, Wrong

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

_SPACING: Final = 4
_BETWEEN: Final = "---------------------------------"


@dataclass(frozen=True, slots=True)
class Noun:
    """One of the two kinds: JobFlow or JobTemplate."""

    kind: str
    plural: str
    has_phase: bool

    @property
    def word(self) -> str:
        return self.kind.lower()

    def verbs(self) -> dict[str, Verb]:
        what = f"{self.word}s"
        return {
            "create": Verb(f"create the {what} of a file", self._file_flags, self.create),
            "list": Verb(f"show all {what}", self._list_flags, self.list_),
            "get": Verb(f"show one of the {what}", self._one_flags, self.get),
            "describe": Verb(f"print {what} in full", self._describe_flags, self.describe),
            "delete": Verb(f"delete one of the {what}, or those of a file", self._delete_flags, self.delete),
        }

    def create(self, server: Server, arguments: Namespace) -> str:
        return "\n".join(self._made(server, manifest) for manifest in self._read(arguments.file))

    def _made(self, server: Server, manifest: Obj) -> str:
        namespace = manifest["metadata"].get("namespace") or server.namespace
        made = server.json("POST", vcctl.path(FLOW, self.plural, namespace), body=manifest)
        return f"Created {self.kind}: {namespace}/{made['metadata']['name']}"

    def list_(self, server: Server, arguments: Namespace) -> str:
        namespace = "" if arguments.all_namespaces else server.namespace
        found = vcctl.listed(server, FLOW, self.plural, namespace)
        return self._table(found) if found else "No resources found"

    def get(self, server: Server, arguments: Namespace) -> str:
        return self._table([self._one(server, arguments)])

    def describe(self, server: Server, arguments: Namespace) -> str:
        if arguments.name:
            found = [self._one(server, arguments)]
        else:
            listed = vcctl.listed(server, FLOW, self.plural, server.namespace)
            found = [{"apiVersion": "flow.volcano.sh/v1alpha1", "kind": self.kind, **obj} for obj in listed]
        return f"\n{_BETWEEN}\n".join(_in_full(obj, arguments.format) for obj in found)

    def delete(self, server: Server, arguments: Namespace) -> str:
        if arguments.file:
            places = [manifest["metadata"] for manifest in self._read(arguments.file)]
        else:
            places = [self._one(server, arguments)["metadata"]]
        return "\n".join(self._deleted(server, meta) for meta in places)

    def _deleted(self, server: Server, meta: Obj) -> str:
        namespace, name = meta.get("namespace") or server.namespace, meta["name"]
        server.json("DELETE", vcctl.path(FLOW, self.plural, namespace, name))
        return f"Deleted {self.kind}: {namespace}/{name}"

    def _one(self, server: Server, arguments: Namespace) -> Obj:
        if not arguments.name:
            raise Wrong(f"{self.word} name must be specified")
        return server.json("GET", vcctl.path(FLOW, self.plural, server.namespace, arguments.name))

    def _read(self, name: str) -> list[Obj]:
        from longshore.cli.arguments import manifest_files

        if not name:
            raise Wrong("a file must be specified with -f")
        try:
            raw = Path(name).read_bytes()
        except OSError as err:
            raise Wrong(f"open {name}: {(err.strerror or '').lower()}") from None
        return [manifest.obj for manifest in manifest_files.parse(raw, name)]

    def _table(self, found: list[Obj]) -> str:
        titles: tuple[str, ...] = ("Name", "Namespace")
        rows = [titles + (("Phase", "Age") if self.has_phase else ())]
        now = datetime.now(UTC)
        for obj in found:
            meta = obj["metadata"]
            row: tuple[str, ...] = (meta["name"], meta["namespace"])
            if self.has_phase:
                phase = ((obj.get("status") or {}).get("state") or {}).get("phase") or ""
                row += (phase, ages.age(meta["creationTimestamp"], now))
            rows.append(row)
        return columns.fitted(rows, _SPACING)

    def _file_flags(self, parser: ArgumentParser) -> None:
        parser.add_argument("--file", "-f", default="", metavar="F", help="a YAML file")

    def _list_flags(self, parser: ArgumentParser) -> None:
        vcctl.namespaced(parser)
        parser.add_argument("--all-namespaces", action="store_true", help="in all namespaces")

    def _one_flags(self, parser: ArgumentParser) -> None:
        vcctl.named(parser, self.word)

    def _describe_flags(self, parser: ArgumentParser) -> None:
        self._one_flags(parser)
        parser.add_argument("--format", "-o", default="yaml", metavar="F", help="yaml (default) or json")

    def _delete_flags(self, parser: ArgumentParser) -> None:
        self._one_flags(parser)
        self._file_flags(parser)


def _in_full(obj: Obj, form: str) -> str:
    from longshore.cli.printing import objects

    plain = _with_zeros(objects.without_managed_fields(obj))
    if form == "json":
        import json

        return json.dumps(plain, indent=2, ensure_ascii=False)
    if form == "yaml":
        return objects.as_yaml(plain).rstrip("\n")
    raise Wrong(f"Unsupported format: {form}")


def _with_zeros(obj: Obj) -> Obj:
    """The object as Go writes it: structs without `omitempty` appear although they are empty."""
    if obj["kind"] == FLOWS.kind:
        status = obj.get("status") or {}
        return {
            **obj,
            "spec": obj.get("spec") or {},
            "status": {**status, "state": status.get("state") or {}},
        }
    spec = {**(obj.get("spec") or {})}
    if spec.get("tasks"):
        spec["tasks"] = [
            {**task, "template": _template(task.get("template") or {})} for task in spec["tasks"]
        ]
    return {**obj, "spec": spec, "status": obj.get("status") or {}}


def _template(template: Obj) -> Obj:
    pod = {"containers": None, **(template.get("spec") or {})}
    for part in ("initContainers", "containers"):
        if pod.get(part):
            pod[part] = [{**each, "resources": each.get("resources") or {}} for each in pod[part]]
    return {"metadata": template.get("metadata") or {}, "spec": pod}


FLOWS: Final = Noun("JobFlow", "jobflows", has_phase=True)
TEMPLATES: Final = Noun("JobTemplate", "jobtemplates", has_phase=False)
