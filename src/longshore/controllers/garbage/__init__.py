"""Garbage collection: deletes or orphans the dependents of deleted owners, by the propagation policy."""

from longshore.controllers.garbage.controller import run

__all__ = ["run"]
