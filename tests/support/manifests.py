"""The frame of a manifest."""

from __future__ import annotations

from typing import Any


def manifest(kind: tuple[str, str], name: str, spec: Any, **meta: Any) -> dict[str, Any]:
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": name, **meta}, "spec": spec}


def pod_spec(image: str, **more: Any) -> dict[str, Any]:
    """One container `main`, which is never restarted unless `more` says so."""
    return {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}], **more}
