"""JobFlows start Volcano Jobs in the order of their dependencies; JobTemplates hold the specs of the Jobs."""

from longshore.controllers.volcano.flow.controller import READS, run

__all__ = ["READS", "run"]
