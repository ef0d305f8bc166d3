"""TTL after finished: deletes Jobs some time after they ended, pods first."""

from longshore.controllers.ttl.controller import run

__all__ = ["run"]
