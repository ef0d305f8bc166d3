"""From a pod's status to the run whose log is wanted, or to the words in which a kubelet refuses."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.node.serving import node_access

ENDED = {"terminated": {"containerID": "process://1", "exitCode": 1}}
RUNNING = {"running": {"startedAt": "2026-11-16T00:00:00Z"}}


def pod(state: Any = None, last: Any = None, restarts: int = 0) -> Any:
    status = {"name": "c", "state": state or {}, "lastState": last or {}, "restartCount": restarts}
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": [status]}}


def waiting(reason: str) -> Any:
    return {"waiting": {"reason": reason}}


@pytest.mark.parametrize(
    ("seen", "running", "now", "before"),
    [
        (pod(RUNNING), None, 0, None),
        (pod(RUNNING, ENDED, 2), None, 2, 1),
        (pod(ENDED), None, 0, None),
        (pod(ENDED, ENDED, 3), None, 3, 2),
        (pod(waiting("CrashLoopBackOff"), ENDED, 2), None, 2, 2),
        (pod(waiting("ContainerCreating")), 0, 0, None),
        (pod(waiting("CrashLoopBackOff"), ENDED, 0), 1, 1, 0),
        (pod(ENDED), 1, 1, 0),
    ],
)
def test_the_attempt(seen: Any, running: int | None, now: int, before: int | None) -> None:
    assert node_access.attempt_of_log(seen, "c", previous=False, running=running) == now
    if before is None:
        with pytest.raises(StatusError, match='previous terminated container "c" in pod "p" not found'):
            node_access.attempt_of_log(seen, "c", previous=True, running=running)
    else:
        assert node_access.attempt_of_log(seen, "c", previous=True, running=running) == before


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (pod(waiting("ContainerCreating")), "is waiting to start: ContainerCreating"),
        (pod(waiting("ErrImagePull")), "is waiting to start: image can't be pulled"),
        (pod(waiting("ImagePullBackOff")), "is waiting to start: trying and failing to pull image"),
        (pod(), "is waiting to start - no logs yet"),
        (pod({"terminated": {"exitCode": 137}}), "is terminated"),
        ({"metadata": {"name": "p"}}, "is not available"),
    ],
)
def test_why_there_is_no_log(seen: Any, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        node_access.attempt_of_log(seen, "c", previous=False, running=None)
    assert refused.value.message == f'container "c" in pod "p" {message}'
    assert refused.value.code == 400
