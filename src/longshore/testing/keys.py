"""A key maker for tests and the virtual clock: texts from dice, made at once. No key that ssh would take."""

from __future__ import annotations

import random

from longshore.controllers.volcano.plugins import KeyPair


class SeededKeys:
    """Keys from `rng`: the same seed gives the same ones."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def rsa(self, bits: int) -> KeyPair:
        number = f"{self._rng.getrandbits(bits):x}"
        private = f"-----BEGIN RSA PRIVATE KEY-----\n{number}\n-----END RSA PRIVATE KEY-----\n"
        return KeyPair(private, f"ssh-rsa {number[:32]}\n")
