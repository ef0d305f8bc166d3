"""Dependencies between tasks or flows: whether there is an order for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def is_acyclic(waits_for: Mapping[str, Iterable[str]]) -> bool:
    """Whether there is an order in which everything comes after what it waits for.

    Something that waits for a name which is no key never has its turn.
    """
    left = {name: set(others) for name, others in waits_for.items()}
    while left:
        ready = [name for name, others in left.items() if not others]
        if not ready:
            return False
        for name in ready:
            del left[name]
        for others in left.values():
            others.difference_update(ready)
    return True
