"""Volcano's queues: open, closing and closed, parents and children, commands."""

from longshore.controllers.volcano.queue.controller import run

__all__ = ["run"]
