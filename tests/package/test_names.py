"""Names of modules: none is vague, and modules share a name only if it is a role or a Kubernetes word."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import longshore

PACKAGE = Path(longshore.__file__).parent


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VAGUE = _names("""
    alike coming door failed following gathering hands happenings heads here issue leftovers measured owing
    partial parts passed plain quick recorded removal session until volumes wire wireless words written
""")
"""Names that said nothing of the module, or that several modules had for different things."""

ROLES = _names("""
    __init__ __main__ act backoff build clock controller decide dialect directories draft errors handlers keys
    loop memory metrics names node_access observe options plan protocol scheduler settings status sync table
    types view waking wanted
""")
"""Parts that every controller or layer has, and protocols whose engine and fake have the same name."""

KUBERNETES = _names("""
    accounting addresses admission adoption affinity batch binding child claims conditions containers
    controllers cronjob custom customresourcedefinition delete discovery endpoints env event events eviction
    get images indexes job job_update job_volumes jobflow jobs kinds kubeconfig limitrange limits logs missed
    mounts namespace node owners ownership persistentvolume persistentvolumeclaim pod pod_volumes podgroup
    pods ports port_forward priorityclass queue resourcequota resources run runtimeclass scale scheduling
    security service spec storageclass tasks tokens update volcano watch
""")
"""Kinds, fields, verbs and terms of Kubernetes and Volcano: each room has its own side of one thing."""


def _modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not {path for path in _modules() if Path(path).stem in VAGUE}


def test_modules_of_one_name_are_sides_of_one_thing() -> None:
    paths = defaultdict(list)
    for path in _modules():
        paths[Path(path).stem].append(path)
    shared = {name for name, found in paths.items() if len(found) > 1} - ROLES - KUBERNETES
    assert not shared, {name: paths[name] for name in shared}


_OWN = re.compile(r"(?<!/apis/)longshore\.dev/")


def test_names_of_longshores_own_are_written_down_once() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose
        ]
        if any(isinstance(text, str) and _OWN.search(text) for text in texts):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found == {"api/facts/own_names.py"}
