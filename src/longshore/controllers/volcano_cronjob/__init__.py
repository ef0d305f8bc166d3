"""Volcano CronJobs start Volcano Jobs by the clock."""

from longshore.controllers.volcano_cronjob.controller import run

__all__ = ["run"]
