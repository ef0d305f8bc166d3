"""Node lifecycle: marks silent nodes as not ready, taints unhealthy nodes, and evicts their pods."""

from longshore.controllers.nodelifecycle.controller import run

__all__ = ["run"]
