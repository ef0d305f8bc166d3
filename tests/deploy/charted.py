"""The files of `deploy`, and a real helm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from longshore.api.types import Obj

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart"
HELM = ROOT / ".tools" / "helm"


def helm(*words: str, **environment: str) -> str:
    """What helm prints. Its own files go to `HELM_CACHE_HOME` and the like, where a test may set them."""
    done = subprocess.run([HELM, *words], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(*words: str, release: str = "longshore") -> list[Obj]:
    text = helm("template", release, str(CHART), "--namespace", "longshore-system", *words)
    return [obj for obj in yaml.safe_load_all(text) if obj]


def identity(obj: Obj) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
