"""A token in a file that another program renews, as the kubelet does for service accounts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from longshore.client.credentials import Credentials
from longshore.client.errors import CredentialsError

REREAD_SECONDS = 60
"""client-go's interval; tokens are renewed long before they expire."""


class TokenFile(Credentials):
    def __init__(self, path: Path, token: str = "", *, clock: Callable[[], float] = time.monotonic) -> None:
        """`token` is used while the file cannot be read."""
        self._path, self._token, self._clock = path, token, clock
        self._read_at: float | None = None

    async def headers(self) -> dict[str, str]:
        now = self._clock()
        if self._read_at is None or now - self._read_at >= REREAD_SECONDS:
            self._read()
            self._read_at = now
        return {"Authorization": f"Bearer {self._token}"}

    def forget(self) -> bool:
        self._read_at = None
        return True

    def _read(self) -> None:
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as err:
            if self._token:
                return  # the last token may still be good
            raise CredentialsError(f"cannot read the token in {self._path}: {err}") from None
        if token:
            self._token = token
        elif not self._token:
            raise CredentialsError(f"the token file {self._path} is empty")
