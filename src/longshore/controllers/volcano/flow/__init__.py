"""JobFlows start Volcano Jobs one after the other; JobTemplates say what is in them."""

from longshore.controllers.volcano.flow.controller import run

__all__ = ["run"]
