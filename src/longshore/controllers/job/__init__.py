"""Jobs: creates their pods, counts each finished pod exactly once, and sets the terminal condition."""

from longshore.controllers.job.controller import READS, JobController, run

__all__ = ["READS", "JobController", "run"]
