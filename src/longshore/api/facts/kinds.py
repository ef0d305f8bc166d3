"""Kinds as clients name them: apiVersion and kind."""

from __future__ import annotations

from typing import Final, TypeAlias

Kind: TypeAlias = tuple[str, str]
"""apiVersion and kind: `("batch/v1", "Job")`."""

CLAIMS: Final = ("v1", "PersistentVolumeClaim")
CONFIG_MAPS: Final = ("v1", "ConfigMap")
EVENTS: Final = ("v1", "Event")
NAMESPACES: Final = ("v1", "Namespace")
NODES: Final = ("v1", "Node")
PODS: Final = ("v1", "Pod")
SECRETS: Final = ("v1", "Secret")
SERVICES: Final = ("v1", "Service")
SERVICE_ACCOUNTS: Final = ("v1", "ServiceAccount")
VOLUMES: Final = ("v1", "PersistentVolume")

DAEMON_SETS: Final = ("apps/v1", "DaemonSet")
REPLICA_SETS: Final = ("apps/v1", "ReplicaSet")
STATEFUL_SETS: Final = ("apps/v1", "StatefulSet")

CRON_JOBS: Final = ("batch/v1", "CronJob")
JOBS: Final = ("batch/v1", "Job")

CLUSTER_ROLE_BINDINGS: Final = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
CLUSTER_ROLES: Final = ("rbac.authorization.k8s.io/v1", "ClusterRole")
DISRUPTION_BUDGETS: Final = ("policy/v1", "PodDisruptionBudget")
LEASES: Final = ("coordination.k8s.io/v1", "Lease")
NETWORK_POLICIES: Final = ("networking.k8s.io/v1", "NetworkPolicy")
PRIORITY_CLASSES: Final = ("scheduling.k8s.io/v1", "PriorityClass")
ROLES: Final = ("rbac.authorization.k8s.io/v1", "Role")
ROLE_BINDINGS: Final = ("rbac.authorization.k8s.io/v1", "RoleBinding")
RUNTIME_CLASSES: Final = ("node.k8s.io/v1", "RuntimeClass")
STORAGE_CLASSES: Final = ("storage.k8s.io/v1", "StorageClass")

COMMANDS: Final = ("bus.volcano.sh/v1alpha1", "Command")
JOB_FLOWS: Final = ("flow.volcano.sh/v1alpha1", "JobFlow")
JOB_TEMPLATES: Final = ("flow.volcano.sh/v1alpha1", "JobTemplate")
RESOURCE_QUOTAS: Final = ("v1", "ResourceQuota")
HYPER_NODES: Final = ("topology.volcano.sh/v1alpha1", "HyperNode")
POD_GROUPS: Final = ("scheduling.volcano.sh/v1beta1", "PodGroup")
QUEUES: Final = ("scheduling.volcano.sh/v1beta1", "Queue")
VOLCANO_CRON_JOBS: Final = ("batch.volcano.sh/v1alpha1", "CronJob")
VOLCANO_JOBS: Final = ("batch.volcano.sh/v1alpha1", "Job")
