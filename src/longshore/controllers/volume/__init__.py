"""Binds claims to existing volumes, and provisions directories for the other claims."""

from longshore.controllers.volume.controller import run

__all__ = ["run"]
