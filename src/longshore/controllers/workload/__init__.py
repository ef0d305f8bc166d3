"""Gangs of Kubernetes' own (alpha): PodGroups for Workloads, scheduled by the gang scheduler."""

from longshore.controllers.workload.controller import run

__all__ = ["run"]
