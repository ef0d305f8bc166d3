"""Namespaces that are being deleted: empties them, pods first, and then lets them go."""

from longshore.controllers.namespace.controller import run

__all__ = ["run"]
