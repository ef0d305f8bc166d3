"""The certificates of webhooks in a Secret: reads it, and changes it one step at a time.

The Secret is of the type that ingress controllers know, `kubernetes.io/tls`, with two more keys: `ca.crt` has
the trusted authorities, `ca.pem` the authority that signs, with its key. A Secret that longshore did not make
is an error, and is never overwritten.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from longshore.api.facts import own_names
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.up import certificates
from longshore.up.certificates import Pair
from longshore.up.webhooks import rotation
from longshore.up.webhooks.rotation import RotationView, Step

_SIGNING, _TRUSTED, _CERTIFICATE, _KEY = "ca.pem", "ca.crt", "tls.crt", "tls.key"
_TYPE: Final = "kubernetes.io/tls"


class ForeignSecret(ValueError):
    """The Secret was not made by longshore. Delete it, and a new one is made."""


class Kept(msgspec.Struct, frozen=True):
    """The content of the Secret."""

    authority: Pair
    """The authority that signs from now on."""
    trusted: bytes
    """Certificates of authorities, the one that signs first, as PEM."""
    server: Pair
    noted: datetime | None = None
    """When the last step of a change of authority was done."""

    def view(self, now: datetime, dns: Sequence[str], published: bool) -> RotationView:
        return RotationView(
            now,
            self.authority.expires,
            self.server.expires,
            vouched=certificates.signed_by(self.server, self.authority),
            named=self.server.names == [*dns],
            old_trusted=self.trusted != self.authority.cert_pem,
            published=published,
            noted=self.noted,
        )


def read(secret: Obj) -> Kept:
    """Reads the Secret. Raises `ForeignSecret`."""
    meta, data = secret["metadata"], secret.get("data") or {}
    place = f"Secret {meta.get('namespace', '')}/{meta['name']}"

    def part(name: str) -> bytes:
        return base64.b64decode(data.get(name) or "")

    noted = (meta.get("annotations") or {}).get(own_names.CERTIFICATE_STEP)
    try:
        certificates.read_several(part(_TRUSTED), f"{_TRUSTED} of {place}")
        return Kept(
            certificates.read(part(_SIGNING), f"{_SIGNING} of {place}"),
            part(_TRUSTED),
            certificates.read(part(_KEY) + part(_CERTIFICATE), f"{_CERTIFICATE} of {place}"),
            None if noted is None else datetime.fromisoformat(noted),
        )
    except ValueError as error:
        raise ForeignSecret(f"{error}: {ForeignSecret.__doc__}") from None


def written(kept: Kept, secret: Obj) -> Obj:
    """The Secret with this content."""
    meta = {**secret["metadata"]}
    notes = {k: v for k, v in (meta.get("annotations") or {}).items() if k != own_names.CERTIFICATE_STEP}
    if kept.noted is not None:
        notes[own_names.CERTIFICATE_STEP] = rfc3339.from_moment(kept.noted)
    meta["annotations"] = notes
    parts = {
        _SIGNING: kept.authority.pem,
        _TRUSTED: kept.trusted,
        _CERTIFICATE: kept.server.cert_pem,
        _KEY: kept.server.key_pem,
    }
    data = {name: base64.b64encode(value).decode() for name, value in parts.items()}
    return {**secret, "metadata": meta, "type": _TYPE, "data": data}


def stepped(step: Step, kept: Kept | None, now: datetime, dns: Sequence[str]) -> Kept:
    """The content after a step that changes it."""
    if kept is None:
        authority = certificates.authority(now, rotation.AUTHORITY_DAYS)
        return Kept(authority, authority.cert_pem, _server(authority, now, dns))
    match step:
        case Step.NEW_AUTHORITY:
            authority = certificates.authority(now, rotation.AUTHORITY_DAYS)
            return Kept(authority, authority.cert_pem + kept.trusted, kept.server)
        case Step.NEW_SERVER:
            return Kept(kept.authority, kept.trusted, _server(kept.authority, now, dns), now)
        case Step.FORGET_OLD:
            return Kept(kept.authority, kept.authority.cert_pem, kept.server)
        case _:
            return Kept(kept.authority, kept.trusted, kept.server, now)


def _server(authority: Pair, now: datetime, dns: Sequence[str]) -> Pair:
    return certificates.server(authority, now, rotation.SERVER_DAYS, dns, ())
