"""The client of the API for every layer above it: one protocol, two engines, the same errors.

`longshore.client.local.LocalClient` calls the API object in this process;
`longshore.client.http.HttpClient` speaks to any Kubernetes. Code written against `Client` runs on both.
The engines are imported from their own modules, so that naming the protocol costs no start-up time.
"""

from longshore.client.client import Client
from longshore.client.errors import (
    ConfigError,
    CredentialsError,
    Garbled,
    PartlyDiscovered,
    TimedOut,
    Unreachable,
)
from longshore.client.protocol import (
    DeleteOptions,
    ObjectList,
    PatchType,
    Response,
    WatchEvent,
    What,
)

__all__ = [
    "Client",
    "ConfigError",
    "CredentialsError",
    "DeleteOptions",
    "Garbled",
    "ObjectList",
    "PartlyDiscovered",
    "PatchType",
    "Response",
    "TimedOut",
    "Unreachable",
    "WatchEvent",
    "What",
]
