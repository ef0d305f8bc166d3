"""Objects that show whether they are whole: each carries one number in several places."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind under load: where it is, how an object with a number looks, and where the numbers are."""

    path: str
    api_version: str
    kind: str
    made: Callable[[int], Obj]
    """All but the name."""
    numbers: Callable[[Obj], set[int]]

    def obj(self, name: str, number: int) -> Obj:
        made = self.made(number)
        metadata = {**made.pop("metadata", {}), "name": name}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **made}

    def number(self, obj: Obj) -> int:
        """The number of a whole object; fails for half an object."""
        found = self.numbers(obj)
        assert len(found) == 1, f"half an object: {json.dumps(obj)}"
        return found.pop()


def _config_map(number: int) -> Obj:
    return {"data": {"number": str(number), "copies": f"{number} " * (number % 200)}}


def _config_map_numbers(obj: Obj) -> set[int]:
    copies = {int(word) for word in obj["data"]["copies"].split()}
    return {int(obj["data"]["number"]), *copies}


_CONTAINERS = [{"name": "main", "image": "busybox:1.36", "command": ["true"]}]


def _job(number: int) -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": _CONTAINERS}}
    return {
        "metadata": {"annotations": {"number": str(number)}, "labels": {"number": str(number)}},
        "spec": {"parallelism": number, "template": template},
    }


def _pod(number: int) -> Obj:
    metadata = {"annotations": {"number": str(number)}, "labels": {"number": str(number)}}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": _CONTAINERS}}


def _metadata_numbers(obj: Obj) -> set[int]:
    metadata = obj["metadata"]
    return {int(metadata["annotations"]["number"]), int(metadata["labels"]["number"])}


def _job_numbers(obj: Obj) -> set[int]:
    return _metadata_numbers(obj) | {obj["spec"]["parallelism"]}


KINDS = (
    Kind("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap", _config_map, _config_map_numbers),
    Kind("/apis/batch/v1/namespaces/default/jobs", "batch/v1", "Job", _job, _job_numbers),
    Kind("/api/v1/namespaces/default/pods", "v1", "Pod", _pod, _metadata_numbers),
)
