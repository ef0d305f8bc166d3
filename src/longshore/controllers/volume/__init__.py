"""Gives claims their volumes: binds those that are there, makes directories for the others."""

from longshore.controllers.volume.controller import run

__all__ = ["run"]
