"""Namespaces that are being deleted: deletes their objects, pods first, and then removes the finalizer."""

from longshore.controllers.namespace.controller import run

__all__ = ["run"]
