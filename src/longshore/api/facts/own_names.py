"""The names below `longshore.dev/`: annotations, and longshore's own among managers and provisioners."""

from __future__ import annotations

from typing import Final

# ---- on Jobs and CronJobs

START_INTERVAL: Final = "longshore.dev/start-interval"
"""The time from one start of a pod to the next: `500ms`."""
RETRY_BACKOFF: Final = "longshore.dev/retry-backoff"
"""The pause before the first retry, which doubles with each further one: `1s`."""
TTL_AFTER_SUCCESS: Final = "longshore.dev/ttl-after-success"
TTL_AFTER_FAILURE: Final = "longshore.dev/ttl-after-failure"
"""How long a finished Job stays, in seconds or as a duration."""
RETRY_OF: Final = "longshore.dev/retry-of"
"""The Job whose failed indexes this one runs again."""
RETRIED_BY: Final = "longshore.dev/retried-by"
"""The Job that runs this one's failed indexes again."""
JITTER: Final = "longshore.dev/jitter"
"""How far a CronJob's runs are spread."""
VOLCANO_ACTION: Final = "longshore.dev/volcano-action"
VOLCANO_DELAYED_ACTIONS: Final = "longshore.dev/volcano-delayed-actions"
VOLCANO_LEAVING_PODS: Final = "longshore.dev/volcano-leaving-pods"
"""Notes of the controller of Volcano Jobs to itself; see `controllers/volcano/job/waking/intents.py`."""

# ---- on pods

ITEMS_FILE: Final = "longshore.dev/items"
"""The file with the items of `longshore run --each`."""
ITEMS_FORMAT: Final = "longshore.dev/items-format"
"""The way the file is read: `lines` (default), or `records`, each ended by a zero byte."""
WHOLE_LOGS: Final = "longshore.dev/whole-logs"
"""`true`: nothing of the pod's logs is dropped while it runs."""
SEPARATE_STREAMS: Final = "longshore.dev/separate-streams"
"""`true`: with whole logs, `?stream=Stderr` has a meaning for the pod's logs."""
FAIL_UNSTARTABLE_AFTER: Final = "longshore.dev/fail-unstartable-after"
"""How long a pod may be unable to start before it has failed."""

ISOLATION: Final = "longshore.dev/isolation"
"""The walls around the pod's containers with the process engine: `none`, `process` or `full`."""
NETWORK: Final = "longshore.dev/network"
"""`none`: the pod reaches nothing but itself."""

# ---- on nodes, with the name of an engine

OF_ENGINES: Final = ".engines.longshore.dev/"
ENGINE_LIMITS: Final = "{}.engines.longshore.dev/limits"
ENGINE_ISOLATION: Final = "{}.engines.longshore.dev/isolation"
ENGINE_ISOLATION_PROBLEM: Final = "{}.engines.longshore.dev/isolation-problem"
ENGINE_NOTES: Final = "{}.engines.longshore.dev/notes"

# ---- on the Leases of replicas that share shards

SHARDS_OF: Final = "longshore.dev/shards-of"
"""A label: the name of the Lease that processes without shards would share."""
SHARD_ROLE: Final = "longshore.dev/shard-role"
"""A label: `replica` for the Lease of a replica, `shard` for that of a shard."""
DIVISION: Final = "longshore.dev/division"
"""How objects are divided: `8-by-namespace`."""

# ---- on the Secret with the certificates of webhooks

CERTIFICATE_STEP: Final = "longshore.dev/certificate-step"
"""When the last part of a change of authority was done."""

# ---- elsewhere

LOG_ATTEMPT: Final = "longshoreAttempt"
"""The option of pods/log that names a run of a container, counted from 0; another Kubernetes ignores it."""

REASON: Final = "longshore.dev/reason"
"""On an Event: time, author and numbers of the reason that it keeps, as JSON."""
WORKLOAD_RIGHTS: Final = "longshore.dev/workload-rights"
"""On a namespace: which rights its pods get."""
JOB_CONTROLLER: Final = "longshore.dev/job-controller"
"""The `spec.managedBy` of Jobs that longshore runs in another cluster, beside kube-controller-manager."""
LOCAL_PROVISIONER: Final = "longshore.dev/local"
"""Makes volumes of directories on the node."""

SIM_DURATION: Final = "sim.longshore.dev/duration"
"""How long a pod runs in a simulation: 3m, 3m±20s, 10s..60s."""
SIM_EXIT_CODES: Final = "sim.longshore.dev/exit-codes"
"""Exit codes of a pod in a simulation, with their shares: 0:0.95,1:0.05."""
