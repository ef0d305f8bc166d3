"""Gives the pods of every namespace the rights that batch work needs, by ordinary RBAC objects."""

from longshore.controllers.rights.controller import run

__all__ = ["run"]
