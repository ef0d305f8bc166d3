"""Checks of a Job: everything a create checks; an update checks it all again (`job_update`).

Problems come in the order in which Kubernetes finds them. Of a CronJob's inner Job only the spec is
checked, by `validate_spec`, without the selector that each created Job generates for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.api import field, identifiers, names
from longshore.api.field import FieldError
from longshore.api.job_labels import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from longshore.api.selectors import labels as label_selectors
from longshore.api.types import Obj
from longshore.api.validation import internal, job_policies, pod
from longshore.api.validation.metadata import validate_label_selector

# Limits that keep the text of completedIndexes and failedIndexes bounded.
_MAX_PARALLELISM: Final = 100_000
_MAX_FAILED_INDEXES: Final = 100_000
_LARGE_JOB_COMPLETIONS: Final = 100_000
_MAX_LARGE_JOB_PARALLELISM: Final = 10_000
_MAX_LARGE_JOB_FAILED_INDEXES: Final = 10_000
_MAX_MANAGED_BY_CHARACTERS: Final = 63

_COUNTS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_NEEDS_INDEXED: Final = "requires indexed completion mode"


def validate_job(job: Obj, *, prefixed_labels: bool = True) -> list[FieldError]:
    """Checks all but metadata. `prefixed_labels` is False for Jobs from before these labels existed."""
    found = validate_generated_selector(job, prefixed_labels=prefixed_labels)
    found += _validate_spec(job)
    return found + validate_last_hostname(job)


def _validate_spec(job: Obj) -> list[FieldError]:
    return validate_job_spec(job["spec"], "spec")


def validate_last_hostname(job: Obj) -> list[FieldError]:
    """Checks that the pod of the highest index, which is named after the Job, gets a valid DNS label."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    completions = spec.get("completions", 0)
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    last = f"{name}-{completions - 1}"
    if not names.dns1123_label(last):
        return []
    text = f"will not able to create pod with invalid DNS label: {last}"
    return [field.invalid("metadata.name", name, text)]


def validate_generated_selector(job: Obj, *, prefixed_labels: bool) -> list[FieldError]:
    """Checks that selector and template labels are the generated ones, unless the selector is manual."""
    spec, meta = job["spec"], job["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    uid, name = meta.get("uid", ""), meta.get("name", "")
    found: list[FieldError] = []
    if not uid:
        found.append(field.required("metadata.uid"))
    expected = {LEGACY_CONTROLLER_UID: uid, LEGACY_JOB_NAME: name}
    if prefixed_labels:
        expected |= {CONTROLLER_UID: uid, JOB_NAME: name}
    given = _template_labels(spec)
    for key, value in expected.items():
        path = f"spec.template.metadata.labels[{key}]"
        if key not in given:
            found.append(field.required(path, f"must be '{value}'"))
        elif given[key] != value:
            found.append(field.invalid(path, _sorted(given), f"must be '{value}'"))
    if not _is_broken(selector) and not _selects(selector, expected):
        found.append(
            field.invalid("spec.selector", shown_selector(selector), "`selector` not auto-generated")
        )
    return found


def validate_job_spec(spec: Obj, path: str, *, old: Obj | None = None) -> list[FieldError]:
    """Checks the spec of a Job, with its selector. `old` is as in `validate_spec`."""
    found = validate_spec(spec, path, old=old)
    selector = spec.get("selector")
    if selector is None:
        found.append(field.required(f"{path}.selector"))
        matches = False
    else:
        problems = validate_label_selector(selector, f"{path}.selector")
        found += problems
        matches = bool(problems) or _selects(selector, _template_labels(spec))
    if not matches:
        given = _template_labels(spec)
        found.append(
            field.invalid(
                f"{path}.template.metadata.labels",
                _sorted(given) if given else None,
                "`selector` does not match template `labels`",
            )
        )
    return found


def validate_spec(spec: Obj, path: str, *, old: Obj | None = None) -> list[FieldError]:
    """Checks the spec without the selector, as for Jobs inside a CronJob. On an update `old` saves the most
    expensive part: an unchanged pod template has passed before."""
    found = field.negative(spec, path, *_COUNTS)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        found.append(field.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if "managedBy" in spec:
        found += _managed_by(spec["managedBy"], f"{path}.managedBy")
    mode = spec.get("completionMode", "NonIndexed")
    if mode == "Indexed":
        found += _indexed(spec, path)
    elif mode == "NonIndexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if key in spec:
                found.append(field.invalid(f"{path}.{key}", spec[key], _NEEDS_INDEXED))
    else:
        found.append(field.not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if "podFailurePolicy" in spec:
        found += job_policies.validate_pod_failure_policy(spec, f"{path}.podFailurePolicy")
    if "successPolicy" in spec:
        if mode == "Indexed":
            found += job_policies.validate_success_policy(spec, f"{path}.successPolicy")
        else:
            policy = internal.go_shaped(spec["successPolicy"])
            found.append(field.invalid(f"{path}.successPolicy", policy, _NEEDS_INDEXED))
    if "podReplacementPolicy" in spec:
        supported = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
        if spec["podReplacementPolicy"] not in supported:
            policy = spec["podReplacementPolicy"]
            found.append(field.not_supported(f"{path}.podReplacementPolicy", policy, supported))
    if old is None or spec["template"] != old["template"]:
        found += pod.validate_pod_template(spec["template"], f"{path}.template")
    return found + _restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _managed_by(value: str, path: str) -> list[FieldError]:
    if not value:
        return [field.required(path)]
    found = [field.invalid(path, part, text) for part, text in identifiers.domain_prefixed_path(value)]
    if len(value.encode()) > _MAX_MANAGED_BY_CHARACTERS:
        found.append(field.too_long(path, _MAX_MANAGED_BY_CHARACTERS))
    return found


def _indexed(spec: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    completions = spec.get("completions")
    parallelism, max_failed = spec.get("parallelism", 0), spec.get("maxFailedIndexes", 0)
    if completions is None:
        found.append(field.required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > _MAX_PARALLELISM:
        text = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
        found.append(field.invalid(f"{path}.parallelism", parallelism, text))
    if completions is not None and "maxFailedIndexes" in spec and max_failed > completions:
        text = "must be less than or equal to completions"
        found.append(field.invalid(f"{path}.maxFailedIndexes", max_failed, text))
    if max_failed > _MAX_FAILED_INDEXES:
        text = f"must be less than or equal to {_MAX_FAILED_INDEXES}"
        found.append(field.invalid(f"{path}.maxFailedIndexes", max_failed, text))
    if completions is None or completions <= _LARGE_JOB_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return found
    when = f"when completions are above {_LARGE_JOB_COMPLETIONS} and used with backoff limit per index"
    if "maxFailedIndexes" not in spec:
        text = f"must be specified when completions is above {_LARGE_JOB_COMPLETIONS}"
        found.append(field.required(f"{path}.maxFailedIndexes", text))
    if parallelism > _MAX_LARGE_JOB_PARALLELISM:
        text = f"must be less than or equal to {_MAX_LARGE_JOB_PARALLELISM} {when}"
        found.append(field.invalid(f"{path}.parallelism", parallelism, text))
    if max_failed > _MAX_LARGE_JOB_FAILED_INDEXES:
        text = f"must be less than or equal to {_MAX_LARGE_JOB_FAILED_INDEXES} {when}"
        found.append(field.invalid(f"{path}.maxFailedIndexes", max_failed, text))
    return found


def _restart_policy(spec: Obj, path: str) -> list[FieldError]:
    policy = (spec["template"].get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):  # Always is the default of pods, so perhaps the user has not set it
        return [field.required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [field.not_supported(path, policy, ("OnFailure", "Never"))]
    if policy != "Never" and "podFailurePolicy" in spec:
        text = 'only "Never" is supported when podFailurePolicy is specified'
        return [field.invalid(path, policy, text)]
    return []


def _template_labels(spec: Obj) -> dict[str, str]:
    labels: dict[str, str] = (spec["template"].get("metadata") or {}).get("labels") or {}
    return labels


def _sorted(labels: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(labels.items()))


def _is_broken(selector: Obj) -> bool:
    """Whether the selector is invalid, so that it selects no definite pods. Another check reports that."""
    return bool(validate_label_selector(selector, ""))


def _selects(selector: Obj, labels: Mapping[str, str]) -> bool:
    if not selector.get("matchExpressions"):
        return (selector.get("matchLabels") or {}).items() <= labels.items()
    return label_selectors.from_selector(selector).matches(labels)


def shown_selector(selector: Obj | None) -> Obj | None:
    """A selector as it is printed in messages: labels sorted."""
    if selector is None:
        return None
    shown: Obj = {}
    if selector.get("matchLabels"):
        shown["matchLabels"] = _sorted(selector["matchLabels"])
    if selector.get("matchExpressions"):
        order = ("key", "operator", "values")
        shown["matchExpressions"] = [{k: t[k] for k in order if k in t} for t in selector["matchExpressions"]]
    return shown
