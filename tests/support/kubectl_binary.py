"""Finds a real kubectl and runs it like a person with a home directory of their own would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.places import ROOT


def find() -> Path:
    """LONGSHORE_TEST_KUBECTL, else the one that `make kubectl` has fetched, else the machine's own."""
    wanted = os.environ.get("LONGSHORE_TEST_KUBECTL")
    if wanted:
        return Path(wanted)
    fetched = ROOT / ".tools" / "kubectl"
    if fetched.exists():
        return fetched
    found = shutil.which("kubectl")
    if found is None:
        pytest.skip("there is no kubectl here; fetch one with: make kubectl")
    return Path(found)


def minor_version(program: Path) -> int:
    asked = subprocess.run([program, "version", "--client", "-o", "json"], capture_output=True, check=True)
    return int(json.loads(asked.stdout)["clientVersion"]["minor"].rstrip("+"))


@dataclass
class Setting:
    home: Path
    """Its working directory, and where it keeps its cache."""
    kubeconfig: Path
    program: Path = field(default_factory=find)

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        mine = {
            "HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": os.environ["PATH"],
            "TZ": "UTC",
        }
        return mine | dict(more or {})


class Kubectl(Setting, CommandLine):
    name = "kubectl"

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *words],
            cwd=self.home,
            env=self.environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
