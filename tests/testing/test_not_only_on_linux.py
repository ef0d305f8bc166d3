"""Clusters for tests need nothing that only Linux has: the suite of the fixture passes with all of it hidden.

A Mac lacks `pidfd`, `prctl`, `/proc`, limits by cgroup, CPU affinity and some more. Only the process runtime
needs Linux.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.places import ROOT

MAC = '''
"""Makes Python look as on a Mac, as far as longshore could notice."""
import asyncio, builtins, multiprocessing, os, platform, select, shutil, signal, socket, ssl, subprocess, sys
import sysconfig, tempfile, urllib.request, zoneinfo  # these look at the system when they are loaded

sysconfig.get_config_vars(), platform.uname()

sys.platform = "darwin"
for name in ("pidfd_open", "sched_getaffinity", "sched_setaffinity", "memfd_create", "eventfd", "getrandom",
             "splice", "setns", "unshare", "prlimit", "posix_fadvise", "O_PATH", "P_PIDFD"):
    if hasattr(os, name):
        delattr(os, name)
for module, names in ((signal, ("pidfd_send_signal",)), (socket, ("SO_PEERCRED", "SCM_CREDENTIALS"))):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
for name in ("resource", "uvloop", "spwd"):
    sys.modules[name] = None

_open, _os_open = builtins.open, os.open

def _refused(path):
    return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(("/proc", "/sys"))

def hidden_open(file, *rest, **more):
    if _refused(file):
        raise FileNotFoundError(2, "No such file or directory", file)
    return _open(file, *rest, **more)

def hidden_os_open(path, *rest, **more):
    if _refused(path):
        raise FileNotFoundError(2, "No such file or directory", path)
    return _os_open(path, *rest, **more)

builtins.open, os.open = hidden_open, hidden_os_open
'''
SUITE = ("test_pods_on_script.py", "test_time_moves_by_hand.py", "test_processes_as_pods.py")


def test_the_suite_of_the_fixture_passes_where_all_that_only_linux_has_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "looks_like_a_mac.py").write_text(MAC)
    paths = os.pathsep.join((str(tmp_path), str(ROOT / "tests")))
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": paths}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "looks_like_a_mac", "-p", "no:cacheprovider"]
    files = [str(ROOT / "tests" / "testing" / "cluster" / name) for name in SUITE]
    done = subprocess.run([*words, *files], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" in done.stdout  # the tests of the process runtime


def test_elsewhere_the_process_engine_says_in_one_sentence_that_it_needs_linux(tmp_path: Path) -> None:
    (tmp_path / "looks_like_a_mac.py").write_text(MAC)
    program = (
        "import looks_like_a_mac\nfrom longshore.testing import Cluster\n"
        "try:\n    Cluster(clock='real', node='process').start()\n"
        "except RuntimeError as err:\n    print(err)\n"
    )
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True)
    assert "needs Linux" in done.stdout, done.stdout + done.stderr
