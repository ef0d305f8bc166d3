"""Reasons about namespaces, roles, claims and volumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from longshore.api.facts import own_names
from longshore.machinery.catalogue.row import Numbers, Row, line, normal, step, warning


def _contents(begin: str, *, names_only: bool) -> Callable[[Numbers], str]:
    """Lists kinds with their counts, largest count first: `pods (3), jobs.batch (1)`. Numbers are by kind."""

    def said(numbers: Numbers) -> str:
        found = {name: many for name, many in numbers.items() if name != "code"}
        if names_only:
            return f"{begin} {', '.join(found)}"
        counts = sorted(found.items(), key=lambda item: (-int(item[1]), item[0]))
        return f"{begin} {', '.join(f'{name} ({count})' for name, count in counts)}"

    return said


ROWS: Final[Mapping[str, Row]] = {
    "BecameLeader": normal("{replica} became leader", reason="LeaderElection"),
    "StoppedLeading": normal("{replica} stopped leading", reason="LeaderElection"),
    # ---- namespaces and roles
    "AccountCreated": line("[creates|created] the service account {name}[, which is not there|]"),
    "AuthorityCreated": line("[creates|created] the ConfigMap {name}[, which is not there|]"),
    "AuthorityRepaired": Row("writes the ConfigMap {name} again, which holds something else"),
    "ContentDeleted": Row(
        _contents("deletes all", names_only=True), _contents("deleted what is in it:", names_only=False)
    ),
    "ContentFailed": Row("some resources cannot be listed or deleted"),
    "ContentRemains": Row(
        _contents("waits until all are gone:", names_only=True),
        _contents("waits until these are gone:", names_only=False),
    ),
    "Empty": Row("the namespace is empty", "it is empty, and goes"),
    "ResourcesUnknown": Row("not all resources that may be in the namespace can be found out"),
    "RightsGranted": line("[binds|bound] the namespace's service accounts to the role {role}"),
    "RightsRevoked": line(f"[deletes|deleted] the binding {{role}}: {own_names.WORKLOAD_RIGHTS} says none"),
    "RulesAggregated": Row("has {rules} rules of other roles"),
    # ---- claims and volumes
    "Available": step("no claim has it"),
    "BindingUnfinished": line("[finishes|finished] its binding to volume {volume}"),
    "Bound": step("is bound to volume {volume}", "claim {claim} has it"),
    "ClaimChosen": Row("waits until claim {claim} names it"),
    "ClaimLost": warning("Bound claim has lost its PersistentVolume. Data on the volume is lost!"),
    "ClaimMisbound": warning("Two claims are bound to the same volume, this one is bound incorrectly"),
    "DataDeleted": line(
        "its claim is gone, and its reclaim policy is {policy}", "it is being deleted, and its data with it"
    ),
    "DefaultClass": line("[gets|got] the default storage class, {name}"),
    "ExternalProvisioning": Row(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually "
        "by the system administrator. If volume creation is delayed, please verify that the provisioner is "
        "running and correctly registered."
    ),
    "FailedBinding": line(
        "no persistent volumes available for this claim{className:.0}",
        "no persistent volumes available for this claim and no storage class is set",
    ),
    "InUse": line(
        "it is being deleted, and stays as long as its {holder} has it",
        "it is being deleted, and stays as long as a pod uses it",
    ),
    "Lost": Row("its volume was lost, which cannot be mended"),
    "Protected": step("gets the finalizer {finalizer}, which it lacks"),
    "ProvisioningFailed": warning('storageclass.storage.k8s.io "{className}" not found'),
    **{
        code: warning(
            f'failed to provision volume with StorageClass "{{className}}": {problem}',
            reason="ProvisioningFailed",
        )
        for code, problem in (
            ("BlockDeviceWanted", "longshore makes directories, no block devices"),
            ("DataSourceWanted", "longshore copies no data into new volumes"),
            ("SelectorWanted", "claim.Spec.Selector is not supported for dynamic provisioning"),
        )
    },
    "ProvisioningSucceeded": normal("Successfully provisioned volume {volume}"),
    "Released": Row("its claim is gone, and its reclaim policy is {policy}"),
    "Unused": line("it is being deleted, and no {holder} has it", "it is being deleted, and no pod uses it"),
    "VolumeFailedDelete": warning("{problem}", "longshore deletes only the directories that it made itself"),
    "VolumeFailedRecycle": warning("longshore recycles no volumes; delete it and make a new one"),
    "VolumeFound": line("[is |]bound to volume {volume}, the best that fits"),
    "VolumeGoing": Row("waits for volume {volume}, which is being deleted"),
    "VolumeMismatch": warning('Cannot bind to requested volume "{volume}": {problem}'),
    "VolumeMissing": Row("waits for volume {volume}, which does not exist"),
    "VolumeNamed": line("[is |]bound to volume {volume}, which it names"),
    "VolumeProvisioned": line(
        "[gets|got] a new volume of storage class {className}, as none that is there fits"
    ),
    "VolumeTaken": Row("waits for volume {volume}, which another claim has"),
    "WaitForFirstConsumer": Row("waiting for first consumer to be created before binding"),
}
