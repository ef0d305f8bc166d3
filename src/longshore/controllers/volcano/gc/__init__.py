"""Deletes Volcano Jobs some time after they ended."""

from longshore.controllers.volcano.gc.controller import run

__all__ = ["run"]
