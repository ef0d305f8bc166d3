"""Jobs: the generated selector, and a status that is checked against its past.

Kubernetes defaults what it reads back from storage, so a Job without labels shows the generated ones
of its template without having them stored. Its first change, be it empty, stores them.
"""

from __future__ import annotations

from typing import ClassVar, Final

from longshore.api import job_labels, names, reads
from longshore.api.defaults import job as defaults
from longshore.api.field import FieldError
from longshore.api.reads import Rules
from longshore.api.strategy import Context, Propagation, Strategy
from longshore.api.types import Obj
from longshore.api.validation import job, job_status, job_update
from longshore.api.warnings import pod as pod_warnings

_MANY_COMPLETIONS: Final = 100_000
_HIGH_PARALLELISM: Final = 10_000


class JobStrategy(Strategy):
    """batch/v1 Jobs."""

    default_propagation: ClassVar[Propagation] = "Orphan"
    keeps_parts: ClassVar[bool] = True
    converts: ClassVar[bool] = True

    def from_storage(self, obj: Obj) -> Obj:
        meta = obj["metadata"]
        if "labels" in meta:
            return obj
        labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
        return {**obj, "metadata": {**meta, "labels": dict(labels)}} if labels else obj

    def default(self, obj: Obj) -> None:
        defaults.default_job(obj)

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        obj["status"] = {}
        generate_selector(obj)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return job.validate_job(obj)

    def warnings_create(self, obj: Obj, ctx: Context) -> list[str]:
        return [text for warnings in _WARNINGS for text in warnings(obj)]

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return job_update.validate_job_update(new, old)

    def warnings_update(self, new: Obj, old: Obj, ctx: Context) -> list[str]:
        if new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return spec_warnings(new["spec"], old["spec"], "spec")

    def validate_status(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return job_status.validate_job_status(new, old)


SELECTED: Final = job_labels.CONTROLLER_UID
"""The label by which a generated selector finds a Job's pods."""


def _regenerate(new: reads.New) -> None:
    """The selector and labels of a Job whose spec is that of another, selected by its own uid."""
    meta, spec = new.obj["metadata"], new.obj["spec"]
    template = spec["template"]
    labels = {**template["metadata"]["labels"], **job_labels.generated(meta)}
    if "labels" in meta and not new.sent.get("labels"):
        meta["labels"] = dict(labels)
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    selector = {"matchLabels": {SELECTED: meta["uid"]}}
    new.obj["spec"] = {**spec, "template": template, "selector": selector}


@reads.reads("metadata.labels", "metadata.name", "metadata.uid", renew=_regenerate)
@reads.reads("metadata.name", "metadata.uid", only_with=("manualSelector", "selector"))
@reads.reads("metadata.name", "metadata.uid", when=job_labels.has_generated)
def generate_selector(obj: Obj) -> None:
    """Labels the template with the Job's name and uid and selects by the uid, unless the Job selects by hand.
    What the user has set under these keys stays; validation refuses it if it differs."""
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
    """For names that are no DNS label although pods and hosts are named after them."""
    problems = names.dns1123_label(name)
    if not problems:
        return []
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(problems)}]"
    ]


@reads.reads("metadata.name", again=lambda new: not names.dns1123_label(new.obj["metadata"]["name"]))
def _name_warnings(obj: Obj) -> list[str]:
    return name_warnings(obj["metadata"]["name"])


@reads.reads()
def _spec_warnings(obj: Obj) -> list[str]:
    return spec_warnings(obj["spec"], None, "spec")


_WARNINGS: Final = (_name_warnings, _spec_warnings)
JobStrategy.rules = Rules(defaults.JOB_RULES, (generate_selector, *job.CREATE_RULES, *_WARNINGS))


def spec_warnings(spec: Obj, old: Obj | None, path: str) -> list[str]:
    """For a Job's spec, also one inside a CronJob."""
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
