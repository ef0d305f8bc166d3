"""Pictures of simulations: what `longshore sim -o svg` prints for the examples."""

from __future__ import annotations

import contextlib
import io

from longshore.cli.main import main

_WHEN = ("--start", "2027-03-27T00:00", "--zone", "Europe/Berlin")


def night() -> str:
    return _svg("examples/sim/night.yaml", "--outcomes", "examples/sim/outcomes.yaml", "--for", "4h")


def gpus() -> str:
    return _svg("examples/sim/gpus.yaml", "--nodes", "2", "--node", "cpu=64,nvidia.com/gpu=8", "--for", "6h")


def _svg(*arguments: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["sim", *arguments, *_WHEN, "-o", "svg"]) == 0
    return out.getvalue()
