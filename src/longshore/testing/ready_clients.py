"""Clients of other people, set up for a cluster: whichever library is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

_VARIABLE: Final = "KUBECONFIG"
_EARLY_READERS: Final = ("kubernetes.config.kube_config", "kubernetes_asyncio.config.kube_config")
_PLACE: Final = "KUBE_CONFIG_DEFAULT_LOCATION"
ClientName = Literal["kubernetes", "kubernetes_asyncio", "kr8s", "lightkube"]


@contextmanager
def finding(kubeconfig: Path) -> Iterator[None]:
    """Lets clients find this kubeconfig by themselves, during the block. Two libraries look at the
    environment only when they are imported, and have to be told."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(kubeconfig)
    told = [found for name in _EARLY_READERS if (found := sys.modules.get(name)) is not None]
    places = [getattr(module, _PLACE) for module in told]
    for module in told:
        setattr(module, _PLACE, str(kubeconfig))
    try:
        yield
    finally:
        for module, place in zip(told, places, strict=True):
            setattr(module, _PLACE, place)
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def make(name: str, kubeconfig: Path) -> Any:
    """A client of this library. ValueError for a library that is not known here, ImportError with the command
    that helps for one that is not installed."""
    found = _MAKERS.get(name)
    if found is None:
        raise ValueError(f"there is no client {name!r}; there are: {', '.join(_MAKERS)}")
    try:
        return found(kubeconfig)
    except ModuleNotFoundError as err:
        raise ImportError(f"{name} is not installed; install it with: pip install {name}") from err


def _kubernetes(kubeconfig: Path) -> Any:
    """An `ApiClient`: hand it to `kubernetes.client.BatchV1Api(…)`."""
    from kubernetes import config

    made: Any = config
    return made.new_client_from_config(str(kubeconfig))


def _kubernetes_asyncio(kubeconfig: Path) -> Any:
    """A coroutine that gives an `ApiClient`: to be awaited in the loop that uses it."""
    from kubernetes_asyncio import config

    return config.new_client_from_config(str(kubeconfig))


def _kr8s(kubeconfig: Path) -> Any:
    """An API object for `kr8s.get(…, api=…)`."""
    import kr8s

    return kr8s.api(kubeconfig=str(kubeconfig))


def _lightkube(kubeconfig: Path) -> Any:
    """A `lightkube.Client`."""
    import lightkube

    return lightkube.Client(config=lightkube.KubeConfig.from_file(kubeconfig))


_MAKERS: Final[dict[str, Callable[[Path], Any]]] = {
    "kubernetes": _kubernetes,
    "kubernetes_asyncio": _kubernetes_asyncio,
    "kr8s": _kr8s,
    "lightkube": _lightkube,
}
