"""A flow as people write it."""

from __future__ import annotations

from prefect import flow, task


@task
def count(shelf: str) -> int:
    return len(shelf)


@flow
def stocktaking(shelves: list[str]) -> int:
    return sum(count(shelf) for shelf in shelves)
