"""Volcano CronJobs start Volcano Jobs by the clock."""

from longshore.controllers.volcano.cronjob.controller import run

__all__ = ["run"]
