"""Volcano Jobs: gangs of pods with lifecycle policies, commands, dependencies between tasks, and plugins."""

from longshore.controllers.volcano.job.controller import READS, WORKERS, VolcanoJobController, run

__all__ = ["READS", "WORKERS", "VolcanoJobController", "run"]
