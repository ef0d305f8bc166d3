"""Keys by seed, and directories that are only remembered."""

from __future__ import annotations

import asyncio
import random

from longshore.testing import MemoryDirectories, SeededKeys


def test_the_same_seed_gives_the_same_key() -> None:
    def key(seed: int) -> tuple[str, str]:
        return asyncio.run(SeededKeys(random.Random(seed)).rsa(2048))

    assert key(1) == key(1)
    assert key(1) != key(2)
    assert key(1)[0].startswith("-----BEGIN RSA PRIVATE KEY-----\n")


def test_directories_are_remembered_until_they_are_removed() -> None:
    directories = MemoryDirectories("/somewhere")
    assert directories.make("pv") == directories.path("pv") == "/somewhere/pv"
    assert directories.made == {"pv"}
    asyncio.run(directories.remove("pv"))
    assert directories.made == set()
