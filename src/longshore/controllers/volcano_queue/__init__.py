"""Volcano's queues: open, closing and closed, parents and children, commands."""

from longshore.controllers.volcano_queue.controller import run

__all__ = ["run"]
