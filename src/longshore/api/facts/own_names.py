"""The names below `longshore.dev/`: annotations, and longshore's own among managers and provisioners."""

from __future__ import annotations

from typing import Final

# ---- on Jobs and CronJobs

START_INTERVAL: Final = "longshore.dev/start-interval"
"""The time from one start of a pod to the next: `500ms`."""
RETRY_BACKOFF: Final = "longshore.dev/retry-backoff"
"""The pause before the first retry; it doubles with each further retry: `1s`."""
TTL_AFTER_SUCCESS: Final = "longshore.dev/ttl-after-success"
TTL_AFTER_FAILURE: Final = "longshore.dev/ttl-after-failure"
"""How long a Job stays after it succeeded, or failed, in seconds or as a duration."""
RETRY_OF: Final = "longshore.dev/retry-of"
"""The Job whose failed indexes this Job runs again."""
RETRIED_BY: Final = "longshore.dev/retried-by"
"""The Job that runs the failed indexes of this Job again."""
JITTER: Final = "longshore.dev/jitter"
"""The range over which a CronJob's runs are spread."""
VOLCANO_ACTION: Final = "longshore.dev/volcano-action"
VOLCANO_DELAYED_ACTIONS: Final = "longshore.dev/volcano-delayed-actions"
VOLCANO_LEAVING_PODS: Final = "longshore.dev/volcano-leaving-pods"
"""State that the controller of Volcano Jobs stores; see `controllers/volcano/job/waking/intents.py`."""

# ---- on pods

ITEMS_FILE: Final = "longshore.dev/items"
"""The file with the items of `longshore run --each`."""
ITEMS_FORMAT: Final = "longshore.dev/items-format"
"""The way the file is read: `lines` (default), or `records`, each ended by a zero byte."""
WHOLE_LOGS: Final = "longshore.dev/whole-logs"
"""`true`: no part of the pod's logs is dropped while it runs."""
SEPARATE_STREAMS: Final = "longshore.dev/separate-streams"
"""`true`: with whole logs, the pod's logs can be read with `?stream=Stderr`."""
EXACT_TIMES: Final = "longshore.dev/exact-times"
"""Start and end of the first container with milliseconds, separated by a slash. If a pod has this annotation,
with any value, the node writes them when the pod ends."""
FAIL_UNSTARTABLE_AFTER: Final = "longshore.dev/fail-unstartable-after"
"""How long a pod may be unable to start before it fails. A pod that can never start fails at once."""
UNSTARTABLE: Final = "longshore.dev/Unstartable"
"""A condition of a pod that failed because it can never start with its manifest."""

ISOLATION: Final = "longshore.dev/isolation"
"""The isolation of the pod's containers in the process runtime: `none`, `process` or `full`."""
NETWORK: Final = "longshore.dev/network"
"""`none`: the pod has no network but its own loopback."""

# ---- on nodes, with the name of a runtime

OF_ENGINES: Final = ".engines.longshore.dev/"
ENGINE_LIMITS: Final = "{}.engines.longshore.dev/limits"
ENGINE_ISOLATION: Final = "{}.engines.longshore.dev/isolation"
ENGINE_ISOLATION_PROBLEM: Final = "{}.engines.longshore.dev/isolation-problem"
ENGINE_NOTES: Final = "{}.engines.longshore.dev/notes"

# ---- on the Leases of shards

SHARDS_OF: Final = "longshore.dev/shards-of"
"""A label: the name of the Lease that processes without shards would share."""
SHARD_ROLE: Final = "longshore.dev/shard-role"
"""A label: `shard` for the Lease of a shard."""
DIVISION: Final = "longshore.dev/division"
"""The number of shards and how objects are assigned to them: `8-by-namespace`."""

# ---- on the Secret with the certificates of webhooks

CERTIFICATE_STEP: Final = "longshore.dev/certificate-step"
"""The time of the last step of a change of the certificate authority."""

# ---- elsewhere

LOG_ATTEMPT: Final = "longshoreAttempt"
"""The option of pods/log that names a run of a container, from 0. Other servers ignore it."""

REASON: Final = "longshore.dev/reason"
"""On an Event: time, author and numbers of the reason that it stands for, as JSON."""
POD_SECURITY: Final = "pod-security.longshore.dev/enforce"
"""A label of a namespace: `isolated` or `privileged`; see `apiserver/access/pod_rights.py`."""
WORKLOAD_RIGHTS: Final = "longshore.dev/workload-rights"
"""On a namespace: the rights that its pods get."""
JOB_CONTROLLER: Final = "longshore.dev/job-controller"
"""The `spec.managedBy` of Jobs that longshore runs in another cluster, beside kube-controller-manager."""
LOCAL_PROVISIONER: Final = "longshore.dev/local"
"""The provisioner that makes volumes from directories on the node."""

SIM_DURATION: Final = "sim.longshore.dev/duration"
"""How long a pod runs in a simulation: 3m, 3m±20s, 10s..60s."""
SIM_EXIT_CODES: Final = "sim.longshore.dev/exit-codes"
"""Exit codes of a pod in a simulation, with their shares: 0:0.95,1:0.05."""
