"""Decides the next step for the certificates of webhooks. Pure: a view in, one step out.

Every step is one write, or one text written to several objects. If the replica dies at any write, the next
call continues from the stored state. A change of authority takes these steps:

1. a new authority is kept beside the old one, which still vouches for the server; 2. the webhook
configurations name both as trusted; 3. the time of that is noted, and API servers get time to read it; 4. the
server gets a certificate of the new authority, which all replicas take; 5. when they have had time for it,
the old authority is forgotten, here and in the configurations.

So at no time does a replica show a certificate that an API server does not trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

AUTHORITY_DAYS: Final = 730
SERVER_DAYS: Final = 90
SERVER_RENEW_BEFORE: Final = timedelta(days=30)
AUTHORITY_RENEW_BEFORE: Final = timedelta(days=SERVER_DAYS + 30)
"""Time before its end at which the authority is renewed, so that it outlives every certificate it signs."""
SPREAD: Final = timedelta(minutes=1)
"""Time for API servers to read a changed configuration before a certificate relies on it."""
OVERLAP: Final = timedelta(minutes=10)
"""Time for replicas to take a new certificate before the authority of the old one is forgotten."""


class Step(Enum):
    BEGIN = "there are no certificates yet"
    PUBLISH = "the webhook configurations do not say whom to trust"
    NEW_AUTHORITY = "the authority's certificate ends soon"
    NOTE_TRUST = "the webhook configurations say to trust the new authority"
    NEW_SERVER = "the server needs a certificate"
    FORGET_OLD = "all replicas show a certificate of the new authority"
    REST = "nothing is due"


class RotationView(NamedTuple):
    """The state of the kept certificates and of the configurations."""

    now: datetime
    authority_ends: datetime
    server_ends: datetime
    vouched: bool
    """Whether the authority that signs from now on signed the server's certificate."""
    named: bool
    """Whether the server's certificate has the required names."""
    old_trusted: bool
    """Whether authorities that no longer sign are still trusted."""
    published: bool
    """Whether every configuration trusts exactly the authorities that are kept as trusted."""
    noted: datetime | None
    """When the last step of a change of authority was done; None if there is no change."""


def decide(view: RotationView | None) -> Step:
    """The next step. The view is None if there are no certificates yet."""
    if view is None:
        return Step.BEGIN
    if not view.published:
        return Step.PUBLISH
    if view.authority_ends - view.now < AUTHORITY_RENEW_BEFORE:
        return Step.NEW_AUTHORITY
    passed = None if view.noted is None or view.noted > view.now else view.now - view.noted
    if not view.vouched:
        if view.server_ends <= view.now:
            return Step.NEW_SERVER  # the old one is not trusted any more: there is nothing to wait for
        if passed is None:
            return Step.NOTE_TRUST
        return Step.NEW_SERVER if passed >= SPREAD else Step.REST
    if view.server_ends - view.now < SERVER_RENEW_BEFORE or not view.named:
        return Step.NEW_SERVER
    if view.old_trusted:
        if passed is None:
            return Step.NOTE_TRUST
        return Step.FORGET_OLD if passed >= OVERLAP else Step.REST
    return Step.REST


def names(service: str, namespace: str) -> Sequence[str]:
    """The names under which an API server may call a Service."""
    short = f"{service}.{namespace}"
    return (f"{short}.svc", f"{short}.svc.cluster.local", short)
