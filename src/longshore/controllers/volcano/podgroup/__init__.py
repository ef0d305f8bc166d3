"""PodGroups for pods that have none: bare pods and those of other workloads, if Volcano schedules them."""

from longshore.controllers.volcano.podgroup.controller import run

__all__ = ["run"]
