"""Gives each ClusterRole with an aggregationRule the rules of the roles that it selects."""

from longshore.controllers.aggregation.controller import run

__all__ = ["run"]
