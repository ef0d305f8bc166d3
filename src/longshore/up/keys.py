"""RSA keys from the machine's randomness, made in a thread: finding the primes takes tenths of a second."""

from __future__ import annotations

import asyncio

from longshore.controllers.volcano.plugins.protocol import KeyPair


class RsaKeys:
    """The `KeyMaker` of a longshore on a real machine."""

    async def rsa(self, bits: int) -> KeyPair:
        return await asyncio.to_thread(new_key, bits)


def new_key(bits: int) -> KeyPair:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return KeyPair(private.decode(), public.decode() + "\n")
