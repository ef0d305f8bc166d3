"""Deletes Volcano Jobs some time after they ended."""

from longshore.controllers.volcano_gc.controller import run

__all__ = ["run"]
