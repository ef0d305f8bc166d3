"""Modules that are loaded when they are first used: what importers, threads and failures see of them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from longshore import late_modules


def seen(code: str) -> str:
    """What a Python of its own prints."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_row_names_a_module() -> None:
    assert not [name for name in sorted(late_modules.LATE) if find_spec(name) is None]


def test_a_module_is_loaded_by_the_use_of_a_name_and_not_by_its_import() -> None:
    assert seen(
        """
            import sys
            from longshore.why import tell
            import longshore.why.tell
            print("longshore.why.story" in sys.modules)
            print(tell.tell.__module__, "longshore.why.story" in sys.modules, type(tell).__name__)
            """
    ).split() == ["False", "longshore.why.tell", "True", "module"]


def late(monkeypatch: pytest.MonkeyPatch, folder: Path, source: str) -> ModuleType:
    """A late module with this source."""
    (folder / "stone.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(late_modules, "LATE", late_modules.LATE | {"stone"})
    monkeypatch.delitem(sys.modules, "stone", raising=False)
    import stone  # type: ignore[import-not-found]

    monkeypatch.delitem(sys.modules, "stone")
    assert isinstance(stone, ModuleType)
    return stone


def test_threads_that_ask_at_once_all_get_the_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = late(
        monkeypatch, tmp_path, "import time\ntimes = []\ntimes.append(1)\ntime.sleep(0.05)\nlast = 7"
    )
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(module.last)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, module.times) == ([7] * 8, [1])


def test_a_module_that_fails_says_so_at_each_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = late(monkeypatch, tmp_path, "raise ValueError('no stone')")
    for _ in range(2):
        with pytest.raises(ValueError, match="no stone"):
            _ = module.name


def test_a_missing_name_is_an_attribute_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = late(monkeypatch, tmp_path, "there = 1")
    with pytest.raises(AttributeError, match="not_there"):
        _ = module.not_there
    assert module.there == 1


def test_a_value_that_is_set_before_the_first_use_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = late(monkeypatch, tmp_path, "weight = 1")
    module.weight = 2
    assert module.weight == 2
