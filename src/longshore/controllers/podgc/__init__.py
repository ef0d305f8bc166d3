"""Pod garbage collection: removes pods that no node will ever finish, and old pods if there are too many."""

from longshore.controllers.podgc.controller import READS, run

__all__ = ["READS", "run"]
