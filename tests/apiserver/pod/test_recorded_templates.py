"""The pod templates of recorded Jobs and CronJobs: filled in, refused and warned of as recorded."""

from __future__ import annotations

import pytest

from apiserver.pod.pod_scene import canonical, headers, normal, recorded
from longshore.api.defaults.pod import default_pod_template
from longshore.api.types import Obj
from longshore.api.validation.pod import validate_pod_template
from longshore.api.warnings.pod import pod_template_warnings

TEMPLATE = "core/v1.PodTemplateSpec"


def template_of(job: Obj) -> Obj | None:
    spec = job.get("spec") or {}
    if "jobTemplate" in spec:
        spec = spec["jobTemplate"].get("spec") or {}
    template: Obj | None = spec.get("template")
    return template


def requests(theme: str) -> list[tuple[str, Obj, Obj]]:
    """(name, template sent, response) of every recorded create of a Job or CronJob."""
    found = []
    for exchange in recorded(theme):
        request = exchange["request"]
        body = request.get("body")
        if request["method"] != "POST" or not isinstance(body, dict) or request.get("query"):
            continue
        if request["path"].endswith(("/jobs", "/cronjobs")) and (template := template_of(body)):
            found.append((exchange["name"], canonical(template, TEMPLATE), exchange["response"]))
    return found


def test_templates_get_their_recorded_defaults() -> None:
    answered = 0
    for name, template, response in requests("defaults"):
        if response["status"] != 201:
            continue
        default_pod_template(template)
        recorded_template = template_of(response["body"])
        assert recorded_template is not None
        assert normal(template["spec"]) == recorded_template["spec"], name
        answered += 1
    assert answered > 20


@pytest.mark.parametrize("theme", ["validation-job", "validation-cronjob", "unknown-fields"])
def test_templates_are_refused_and_warned_of_as_recorded(theme: str) -> None:
    for name, template, response in requests(theme):
        path = "spec.template" if theme != "validation-cronjob" else "spec.jobTemplate.spec.template"
        default_pod_template(template)
        if response["status"] == 201:
            assert validate_pod_template(template, path) == [], name
            want = [t for t in response["headers"].get("Warning", []) if t.startswith(f'299 - "{path}.')]
            assert headers(pod_template_warnings(template, None, path)) == want, name
            continue
        causes = response["body"].get("details", {}).get("causes", [])
        wanted = [c for c in causes if c["field"].startswith(f"{path}.") and _is_about_pods(c["field"], path)]
        got = [
            {"reason": p.reason, "message": p.body(), "field": p.field}
            for p in validate_pod_template(template, path)
            if _is_about_pods(p.field, path)
        ]
        assert got == wanted, name


def _is_about_pods(field: str, path: str) -> bool:
    """Not what Jobs themselves say of their templates."""
    return field != f"{path}.spec.restartPolicy" and not field.startswith(f"{path}.metadata.")
