"""Turns a pod's manifest into what a runtime can start: environment, volumes, mounts, user, limits.

Knows nothing of runtimes beyond `node.runtime`, and starts nothing. Start reading at `preparer.py`; what
goes in and comes out is in `types.py`, which costs nothing to import.
"""
