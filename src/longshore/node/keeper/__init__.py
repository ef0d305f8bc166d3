"""The keeper: a small, long-lived process that is the parent of all containers.

Containers and their exit codes survive `kill -9` of longshore because their parent is not longshore. The
keeper knows nothing of pods: it starts commands once per key, writes down what became of them, keeps their
output, and tells whoever is connected. `python -m longshore.node.keeper DIR` runs one for a directory.

It imports little (no msgspec, dataclasses, typing, asyncio): it starts in about 30 ms and stays near 11 MB,
however large longshore grows. `wire.py` is the only part that the other side imports too.
"""
