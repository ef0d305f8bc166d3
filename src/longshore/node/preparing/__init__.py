"""Turns a pod's manifest into what an engine can start: environment, volumes, mounts, user, limits.

Knows nothing of engines beyond `node.runtime`, and starts nothing. Start reading at `preparer.py`.
"""

from longshore.node.preparing.preparer import Preparer
from longshore.node.preparing.types import CannotPrepare, NodeFacts, NotReady, PreparedPod, Server, Volume

__all__ = ["CannotPrepare", "NodeFacts", "NotReady", "PreparedPod", "Preparer", "Server", "Volume"]
