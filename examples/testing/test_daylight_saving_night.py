"""A CronJob over the night that the clocks change: which runs are there, and which are not?"""

from __future__ import annotations

import pytest

from longshore.testing import Cluster

# ---- what is tested: a manifest

NIGHTLY = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup}
spec:
  schedule: "30 1,2,3 * * *"
  timeZone: Europe/Berlin
  successfulJobsHistoryLimit: 10
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: example.org/backup}]
"""


@pytest.mark.parametrize(
    ("night", "runs"),
    [
        ("2027-03-27", ["01:30+01:00", "02:30+01:00", "03:30+01:00"]),
        ("2027-03-28", ["01:30+01:00", "03:30+02:00"]),  # there is no 2:30 in this night
        ("2027-10-31", ["01:30+02:00", "02:30+01:00", "02:30+02:00", "03:30+01:00"]),  # and here are two
    ],
)
def test_a_backup_runs_at_each_half_past_that_there_is(
    longshore: Cluster, night: str, runs: list[str]
) -> None:
    longshore.clock.set(f"{night}T00:00", "Europe/Berlin")
    longshore.apply(NIGHTLY)
    longshore.clock.advance_to(f"{night}T05:00", "Europe/Berlin")
    times = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    found = sorted(job["metadata"]["annotations"][times] for job in longshore.list("jobs"))
    assert [at[11:16] + at[19:] for at in found] == runs
