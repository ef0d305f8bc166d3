"""Values that fields take, where Kubernetes publishes them. The table of messages has none.

Only fields whose value the server checks against just these are here.
"""

from __future__ import annotations

from typing import Final

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICY: Final = ("FallbackToLogsOnError", "File")
_PREEMPTION: Final = ("Never", "PreemptLowerPriority")

VALUES: Final[dict[str, tuple[str, ...]]] = {
    "batch/v1.CronJobSpec:concurrencyPolicy": ("Allow", "Forbid", "Replace"),
    "batch/v1.JobSpec:completionMode": ("Indexed", "NonIndexed"),
    "batch/v1.JobSpec:podReplacementPolicy": ("Failed", "TerminatingOrFailed"),
    "batch/v1.PodFailurePolicyRule:action": ("Count", "FailIndex", "FailJob", "Ignore"),
    "batch/v1.PodFailurePolicyOnExitCodesRequirement:operator": ("In", "NotIn"),
    "core/v1.Container:imagePullPolicy": _PULL,
    "core/v1.Container:terminationMessagePolicy": _MESSAGE_POLICY,
    "core/v1.ContainerPort:protocol": _PROTOCOLS,
    "core/v1.EphemeralContainer:imagePullPolicy": _PULL,
    "core/v1.EphemeralContainer:terminationMessagePolicy": _MESSAGE_POLICY,
    "core/v1.HTTPGetAction:scheme": ("HTTP", "HTTPS"),
    "core/v1.NodeSelectorRequirement:operator": ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"),
    "core/v1.PersistentVolumeClaimSpec:volumeMode": ("Block", "Filesystem"),
    "core/v1.PodSpec:dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "core/v1.PodSpec:preemptionPolicy": _PREEMPTION,
    "core/v1.PodSpec:restartPolicy": ("Always", "Never", "OnFailure"),
    "core/v1.PodStatus:phase": ("Failed", "Pending", "Running", "Succeeded", "Unknown"),
    "core/v1.PodStatus:qosClass": ("BestEffort", "Burstable", "Guaranteed"),
    "core/v1.SeccompProfile:type": ("Localhost", "RuntimeDefault", "Unconfined"),
    "core/v1.ServicePort:protocol": _PROTOCOLS,
    "core/v1.ServiceSpec:sessionAffinity": ("ClientIP", "None"),
    "core/v1.ServiceSpec:type": ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    "core/v1.Taint:effect": ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    "core/v1.Toleration:effect": ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    "core/v1.TopologySpreadConstraint:whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "scheduling/v1.PriorityClass:preemptionPolicy": _PREEMPTION,
}
