"""Creates PodGroups for pods of Volcano's scheduler that have none: bare pods and pods of other workloads."""

from longshore.controllers.volcano.podgroup.controller import READS, run

__all__ = ["READS", "run"]
