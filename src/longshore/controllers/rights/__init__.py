"""Grants the service accounts of every namespace the rights that batch work needs, by RBAC objects."""

from longshore.controllers.rights.controller import run

__all__ = ["run"]
