"""Volcano Jobs: gangs of pods with lifecycle policies, commands, dependencies between tasks, and plugins."""

from longshore.controllers.volcano.job.controller import WORKERS, VolcanoJobController, run

__all__ = ["WORKERS", "VolcanoJobController", "run"]
