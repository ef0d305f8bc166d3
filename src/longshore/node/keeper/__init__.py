"""The keeper: a small, long-lived process that is the parent of all containers.

Containers and their exit codes survive `kill -9` of longshore because their parent is not longshore. The
keeper starts commands once per key, records how they end, logs their output, and reports ends to its peers.
Of pods it knows only which containers share namespaces (pods.py). `python -m longshore.node.keeper DIR` runs
one for a directory.

It imports little (no msgspec, dataclasses, typing, asyncio): it starts in about 30 ms and stays near 11 MB,
however large longshore grows. `frames.py` is the only part that longshore imports too.
"""
