"""Jobs: the generated selector, and a status that is checked against its past.

Kubernetes defaults what it reads back from storage, so a Job without labels shows the generated ones of its
template without having them stored. Its first update, even an empty one, stores them.
"""

from __future__ import annotations

from typing import Final

from longshore.api import job_labels, names
from longshore.api.defaults import job as defaults
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import job, job_status, job_update
from longshore.api.warnings import pod as pod_warnings

_MANY_COMPLETIONS: Final = 100_000
_HIGH_PARALLELISM: Final = 10_000


def _from_storage(obj: Obj) -> Obj:
    meta = obj["metadata"]
    if "labels" in meta:
        return obj
    labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
    return {**obj, "metadata": {**meta, "labels": dict(labels)}} if labels else obj


def _prepare_create(obj: Obj, ctx: Context) -> None:
    obj["status"] = {}
    generate_selector(obj)


def _warnings_create(obj: Obj) -> list[str]:
    return name_warnings(obj["metadata"]["name"]) + spec_warnings(obj["spec"], None, "spec")


def _warnings_update(new: Obj, old: Obj) -> list[str]:
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return spec_warnings(new["spec"], old["spec"], "spec")


SELECTED: Final = job_labels.CONTROLLER_UID
"""The label by which a generated selector finds a Job's pods."""


def generate_selector(obj: Obj) -> None:
    """Labels the template with the Job's name and uid and selects by the uid, unless the Job selects by hand.
    Values that the user has set under these keys stay; validation refuses wrong ones."""
    meta, spec = obj["metadata"], obj["spec"]
    if spec.get("manualSelector"):
        return
    template_meta = spec["template"].setdefault("metadata", {})
    labels = template_meta.setdefault("labels", {})
    shared = labels is meta.get("labels")
    for key, value in job_labels.generated(meta).items():
        labels.setdefault(key, value)
    if shared:
        meta["labels"] = dict(labels)
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(SELECTED, meta["uid"])


def name_warnings(name: str) -> list[str]:
    """Warns of names that are no DNS label, because pods and hosts are named after them."""
    problems = names.dns1123_label(name)
    if not problems:
        return []
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(problems)}]"
    ]


def spec_warnings(spec: Obj, old: Obj | None, path: str) -> list[str]:
    """Warns about the spec of a Job, also of one inside a CronJob."""
    found = []
    if (
        spec.get("completionMode") == "Indexed"
        and spec.get("completions", 0) > _MANY_COMPLETIONS
        and spec.get("parallelism", 0) > _HIGH_PARALLELISM
    ):
        found.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher "
            "than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes "
            "fail"
        )
    template = spec["template"]
    return found + pod_warnings.pod_template_warnings(
        template, old["template"] if old else None, f"{path}.template"
    )


STRATEGY: Final = Strategy(
    default_propagation="Orphan",
    keeps_parts=True,
    converts=True,
    from_storage=_from_storage,
    default=defaults.default_job,
    prepare_create=_prepare_create,
    validate_create=job.validate_job,
    warnings_create=_warnings_create,
    validate_update=job_update.validate_job_update,
    warnings_update=_warnings_update,
    validate_status=job_status.validate_job_status,
)
"""batch/v1 Jobs."""
