"""Jobs: runs their pods, counts each end exactly once, and says when a Job has come to its own."""

from longshore.controllers.job.controller import WORKERS, JobController, run

__all__ = ["WORKERS", "JobController", "run"]
