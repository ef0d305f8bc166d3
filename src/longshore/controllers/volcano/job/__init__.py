"""Volcano Jobs: gangs of pods with lifecycle policies, commands, dependencies between tasks, and plugins."""

from longshore.controllers.volcano.job.controller import READS, VolcanoJobController, run

__all__ = ["READS", "VolcanoJobController", "run"]
