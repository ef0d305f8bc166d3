"""Clients of other Python libraries, if these are installed, configured for a cluster."""

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
    """Lets clients find this kubeconfig by themselves, during the block. Two libraries read the environment
    only at import, so the path is set in their modules, too."""
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
    """Makes a client of this library. Raises ValueError for an unknown library, and ImportError with the
    command that installs it for one that is missing."""
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
