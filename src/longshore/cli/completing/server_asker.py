"""Names for completion, asked of the server that the line means. A person waits: silence beats an error."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from longshore.api.errors import StatusError
from longshore.cli.arguments import kinds
from longshore.cli.main import Failure
from longshore.cli.server import connecting
from longshore.cli.server.requests import Server
from longshore.client.config import kubeconfig
from longshore.client.errors import ConfigError, Unreachable


class ServerAsker:
    """Asks with the flags --kubeconfig, --context and --namespace of the line."""

    def __init__(self, words: Sequence[str]) -> None:
        named = _value(words, "--kubeconfig")
        self._where = Namespace(
            kubeconfig=Path(named) if named else None,
            context=_value(words, "--context"),
            namespace=_value(words, "--namespace", "-n"),
        )
        self._everywhere = "-A" in words or "--all-namespaces" in words

    def kinds(self) -> Sequence[str]:
        try:
            rows = kinds.discover(self._server()).rows
        except (StatusError, Unreachable, Failure):
            return ()
        return list(dict.fromkeys(row.plural for row in rows if "list" in row.verbs))

    def names(self, kind: str) -> Sequence[str]:
        try:
            server = self._server()
            row = kinds.discover(server).named(kind)
            if row is None:
                return ()
            accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            place = "" if self._everywhere else server.namespace
            found = server.json("GET", row.path(place), query={"limit": "500"}, accept=accept)
        except (StatusError, Unreachable, Failure):
            return ()
        return [item["metadata"]["name"] for item in found.get("items") or ()]

    def contexts(self) -> Sequence[str]:
        try:
            return list(kubeconfig.load(self._where.kubeconfig, os.environ).contexts)
        except ConfigError:
            return ()

    def containers(self, pod: str) -> Sequence[str]:
        try:
            server = self._server()
            name = pod.rpartition("/")[2]
            spec = server.json("GET", f"/api/v1/namespaces/{server.namespace}/pods/{name}")["spec"]
        except (StatusError, Unreachable, Failure):
            return ()
        return [each["name"] for each in [*spec["containers"], *(spec.get("initContainers") or ())]]

    def _server(self) -> Server:
        return connecting.server(self._where)


def _value(words: Sequence[str], *flags: str) -> str:
    """The last value of a flag, written `--flag value` or `--flag=value`."""
    found = ""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in flags:
            found = value if equals else "".join(words[at + 1 : at + 2])
    return found
