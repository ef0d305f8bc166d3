"""CronJobs: starts a Job at each scheduled time, keeps the status and the history, and says what it skipped.

docs/cronjobs.md tells what longshore adds: jitter, catching up in words, clocks that jump.
"""

from longshore.controllers.cronjob.controller import WORKERS, CronJobController, run

__all__ = ["WORKERS", "CronJobController", "run"]
