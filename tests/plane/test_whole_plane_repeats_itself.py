"""The whole plane on the virtual clock does the same again, byte for byte, in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.places import ROOT

PROGRAM = Path(__file__).with_name("plane_trace.py")
SIGNS = {
    "aggregation": b"update rbac.authorization.k8s.io/clusterroles//view",
    "cronjob": b"put batch/cronjobs/",
    "garbage": b"delete batch.volcano.sh/jobs/",
    "job": b'"type":"SuccessCriteriaMet"',
    "namespace": b"delete namespaces//doomed",
    "podgc": b"delete pods/",
    "rights": b"put rbac.authorization.k8s.io/rolebindings/",
    "serviceaccount": b"put serviceaccounts/doomed/default",
    "ttl": b"delete batch/jobs/default/short-lived-good",
    "volcano-job": b'"reason":"ExecuteAction"',
    "volcano-cronjob": b"put batch.volcano.sh/cronjobs/default/gangs",
    "volcano-gc": b"delete batch.volcano.sh/jobs/default/keys",
    "volcano-jobflow": b"put flow.volcano.sh/jobflows/default/flow",
    "volcano-podgroup": b"put scheduling.volcano.sh/podgroups/",
    "volcano-queue": b"put scheduling.volcano.sh/queues//batch",
    "volume": b"delete persistentvolumes/",
    "toolkit": b"put pods/default/crew-2-",
    "scheduler": b'"reason":"Scheduled"',
    "gangs": b'"reason":"NotEnoughResources"',
    "node": b'"reason":"Killing"',
    "ssh": b"put secrets/default/keys-ssh",
    "event expiry": b"delete events/default/",
}
"""A write by which each part of the plane is seen to take part."""


def traces(*runs: tuple[int, int]) -> list[bytes]:
    """The writes that the program prints, per seed of the run and of Python's hashes."""
    started = [
        subprocess.Popen(
            [sys.executable, PROGRAM, str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHASHSEED": str(hashes), "PYTHONPATH": str(ROOT / "tests")},
        )
        for seed, hashes in runs
    ]
    out = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(runs)
    return out


def test_the_same_seed_gives_the_same_writes_at_the_same_times_under_any_hash_seed() -> None:
    one, again, hashed, other = traces((7, 1), (7, 1), (7, 2), (8, 1))
    missing = [part for part, sign in SIGNS.items() if sign not in one]
    assert not missing, f"took no part: {missing}"
    assert one.count(b"\n") > 2000
    assert one == again
    assert one == hashed
    assert one != other
