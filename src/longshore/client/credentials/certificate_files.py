"""A client certificate in files that another program renews, as kubelets renew theirs."""

from __future__ import annotations

import time
from collections.abc import Callable

from longshore.client.credentials import Credentials, certificate_pairs
from longshore.client.credentials.token_file import REREAD_SECONDS
from longshore.client.errors import ConfigError


class CertificateFiles(Credentials):
    def __init__(
        self, read: Callable[[], tuple[bytes, bytes]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`read` gives certificate and key as the files have them now, or raises ConfigError."""
        self._read, self._clock = read, clock
        self._pair = read()
        self._read_at: float | None = clock()

    async def headers(self) -> dict[str, str]:
        now = self._clock()
        if self._read_at is None or now - self._read_at >= REREAD_SECONDS:
            self._renew()
            self._read_at = now
        return {}

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._pair

    def forget(self) -> bool:
        self._read_at = None
        return True

    def _renew(self) -> None:
        """Reads the files again. Keeps the last pair while a file is missing or the two do not match."""
        try:
            pair = self._read()
        except ConfigError:
            return
        if pair != self._pair and certificate_pairs.is_one(pair):
            self._pair = pair
