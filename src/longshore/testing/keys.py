"""A key maker for tests and the virtual clock: makes random texts, which ssh would not accept."""

from __future__ import annotations

import random

from longshore.controllers.volcano.plugins import KeyPair


class SeededKeys:
    """Makes keys from `rng`: the same seed gives the same keys."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def rsa(self, bits: int) -> KeyPair:
        number = f"{self._rng.getrandbits(bits):x}"
        private = f"-----BEGIN RSA PRIVATE KEY-----\n{number}\n-----END RSA PRIVATE KEY-----\n"
        return KeyPair(private, f"ssh-rsa {number[:32]}\n")
