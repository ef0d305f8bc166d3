"""A Job made by hand from a CronJob, as `kubectl create job --from` makes it, with overrides.

A run started by hand is a Job like any other: it counts in the history, and the schedule's policies ignore
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from longshore.api import types
from longshore.api.types import Obj

MANUAL: Final = "cronjob.kubernetes.io/instantiate"


class CannotOverride(ValueError):
    """The overrides do not fit the CronJob's containers."""


def instantiated(
    cronjob: Obj,
    *,
    name: str = "",
    env: Sequence[tuple[str, str]] = (),
    args: Sequence[str] | None = None,
    container: str = "",
) -> Obj:
    """Makes the Job. `env` goes to every container, or to the named one; `args` go to one container. Raises
    CannotOverride."""
    meta, template = cronjob["metadata"], cronjob["spec"]["jobTemplate"]
    wanted = template.get("metadata") or {}
    made: Obj = {"name": name} if name else {"generateName": f"{meta['name']}-run-"}
    made["namespace"] = meta["namespace"]
    if wanted.get("labels"):
        made["labels"] = wanted["labels"]
    made["annotations"] = {MANUAL: "manual", **(wanted.get("annotations") or {})}
    # kubectl does not set blockOwnerDeletion here, so that fewer rights are needed.
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": meta["name"], "uid": meta["uid"]}
    made["ownerReferences"] = [{**owner, "controller": True}]
    spec: Obj = types.copy_of(template["spec"])
    _override(spec["template"]["spec"]["containers"], env, args, container)
    return {"metadata": made, "spec": spec}


def _override(
    containers: list[dict[str, Any]], env: Sequence[tuple[str, str]], args: Sequence[str] | None, named: str
) -> None:
    names = ", ".join(one["name"] for one in containers)
    chosen = [one for one in containers if not named or one["name"] == named]
    if not chosen:
        raise CannotOverride(f"there is no container {named!r}; there are: {names}")
    if args is not None and len(chosen) > 1:
        raise CannotOverride(f"--args is for one container; name it with --container: {names}")
    for one in chosen:
        if args is not None:
            one["args"] = [*args]
        for key, value in env:
            kept = [entry for entry in one.get("env") or () if entry["name"] != key]
            one["env"] = [*kept, {"name": key, "value": value}]
