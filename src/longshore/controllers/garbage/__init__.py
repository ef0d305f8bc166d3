"""Garbage collection: deletes what has lost its owners, in the order that was asked for, or lets it go."""

from longshore.controllers.garbage.controller import run

__all__ = ["run"]
