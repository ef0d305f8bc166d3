"""pods/eviction: a delete that asks the pod's disruption budget first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from longshore.api import errors
from longshore.api.facts import pod_state
from longshore.api.kinds import pod_binding
from longshore.api.selectors import labels
from longshore.api.types import Obj, copy_of
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.request import body, options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest.delete import check_preconditions, delete_entry
from longshore.apiserver.rest.update import key_of
from longshore.apiserver.subresources.binding import SUCCESS

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Entry, Staged

_BUDGETS: Final = "policy/poddisruptionbudgets"
_RETRY_SECONDS: Final = 10


def evict(api: Api, call: Call) -> DocumentAnswer:
    """POST …/pods/x/eviction."""
    wanted = options.write_options(call, "CreateOptions")
    eviction = body.object_of(call, wanted.field_validation, kind="Eviction", group_version="policy/v1")
    if (eviction.get("metadata") or {}).get("name", "") != call.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    entry = api.store.latest(key_of(call))
    if entry is None:
        raise errors.not_found("", "pods", call.name)
    how = options.delete_options(eviction.get("deleteOptions") or {})
    if wanted.dry_run or how.dry_run:
        return DocumentAnswer(SUCCESS, code=201)
    check_preconditions(call, entry, how)
    staged = [] if _exempt(entry.obj) else _spend_budget(api, entry)
    if not pod_state.has_ended(entry.obj):
        staged.append(api.store.stage(entry.key, pod_binding.evicted(entry.obj, now=api.now())))
        entry = staged[-1].entry
    how = replace(how, uid=None, revision=None)
    staged += delete_entry(api, call, entry, how).staged
    return DocumentAnswer(SUCCESS, code=201, staged=staged)


def _exempt(pod: Obj) -> bool:
    """Whether evicting the pod disrupts nothing: it is pending, finished or being deleted."""
    is_pending = (pod.get("status") or {}).get("phase") == "Pending"
    return is_pending or pod_state.has_ended(pod) or "deletionTimestamp" in pod["metadata"]


def _spend_budget(api: Api, pod: Entry) -> list[Staged]:
    """Takes one disruption from the pod's budget; 429 when none is left."""
    own = pod.obj["metadata"].get("labels") or {}
    namespace = pod.key.namespace
    budgets = [
        e
        for e in api.store.list(_BUDGETS, namespace).entries
        if labels.from_selector((e.obj.get("spec") or {}).get("selector")).matches(own)
    ]
    if not budgets:
        return []
    if len(budgets) > 1:
        raise errors.internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    latest = api.store.latest(budgets[0].key) or budgets[0]
    if _costs_nothing(pod.obj, latest.obj):
        return []
    budget: Obj = copy_of(latest.obj)
    status = budget.setdefault("status", {})
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _over_budget(
            f"The disruption budget {name} is still being processed by the server.", _RETRY_SECONDS
        )
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise errors.forbidden("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    if allowed == 0:
        text = f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods and has "
        # No Retry-After: the time is unknown, and drains retry at their own interval.
        raise _over_budget(text + f"{status.get('currentHealthy', 0)} currently", None)
    status["disruptionsAllowed"] -= 1
    status.setdefault("disruptedPods", {})[pod.key.name] = api.now()
    return [api.store.stage(latest.key, budget)]


def _costs_nothing(pod: Obj, budget: Obj) -> bool:
    """Whether the pod is not ready and costs no disruption: by policy, or since enough pods are healthy."""
    if pod_state.is_ready(pod):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired: int = status.get("desiredHealthy", 0)
    return 0 < desired <= int(status.get("currentHealthy", 0))


def _over_budget(cause: str, retry_after: int | None) -> errors.StatusError:
    more = {} if retry_after is None else {"retryAfterSeconds": retry_after}
    return errors.StatusError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={"causes": [{"reason": "DisruptionBudget", "message": cause}], **more},
    )
