"""Volcano's queues: opens and closes them, by command or with their parents."""

from longshore.controllers.volcano.queue.controller import READS, run

__all__ = ["READS", "run"]
