"""Volcano's queues: opens and closes them, by command or with their parents."""

from longshore.controllers.volcano.queue.controller import run

__all__ = ["run"]
