"""Only the outer rooms ask the machine for time, dice, threads or its state; all others are given them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.places import ROOT

SOURCE = ROOT / "src" / "longshore"
OUTER_ROOMS = {
    "cli": "a person's terminal",
    "up": "one longshore on a real machine",
    "machinery/time/clock.py": "the machine's clock itself",
    "machinery/time/virtual.py": "the clock that drives its own event loop",
    "apiserver/documents/server_info.py": "`/version` says what the server runs on",
    "apiserver/http": "sockets",
    "apiserver/large": "the process that reads large bodies",
    "client/config": "a person's kubeconfig",
    "client/credentials": "programs and files that give credentials",
    "client/http": "sockets",
    "node/keeper": "the process that keeps processes",
    "node/runtimes": "engines that run processes and containers",
    "node/archive.py": "a lock: its files are written in a thread that is handed in",
    "testing/held_loop.py": "real time beside the virtual one, and the thread that a cluster lives in",
    "testing/identity.py": "certificates are good from the machine's time on",
    "testing/installation.py": "a token that nobody guesses",
    "testing/language_door.py": "a thread for each request, as a test has one, and the signal that stops it",
    "testing/ready_clients.py": "the environment that code under test looks into",
    "testing/seen_requests.py": "how long an answer really took",
    "store/sqlite.py": "the journal on disk, which measures how long a commit takes",
    "store/writers.py": "the thread of the journal on disk",
}
"""Each with its reason."""
MODULES = {"time", "secrets", "uuid", "threading", "concurrent", "multiprocessing", "platform"}
CALLS = {
    "asyncio.timeout": "clock.timeout",
    "asyncio.timeout_at": "clock.timeout",
    "asyncio.to_thread": "an InThread",
    "asyncio.wait_for": "clock.timeout",
    "datetime.now": "clock.now",
    "datetime.today": "clock.now",
    "datetime.utcnow": "clock.now",
    "date.today": "clock.now",
    "os.environ": "a parameter",
    "os.getenv": "a parameter",
    "os.uname": "a parameter",
    "socket.gethostname": "a parameter",
    "os.urandom": "an rng",
    "random.SystemRandom": "an rng",
}
"""What is asked of the machine, and what to ask instead."""
ON_A_CLOCK = ("call_at", "call_later")


def asked(source: str) -> Iterator[tuple[int, str]]:
    """The lines on which a module asks the machine, and in which words."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in MODULES:
                    yield node.lineno, f"import {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").partition(".")[0]
            if not node.level and module in (*MODULES, "random"):
                yield node.lineno, f"from {node.module} import …"
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name in CALLS:
                yield node.lineno, f"{name} instead of {CALLS[name]}"
            elif name.startswith("random.") and name != "random.Random":
                yield node.lineno, f"{name} instead of an rng"
            elif node.attr in ON_A_CLOCK and not ast.unparse(node.value).endswith("clock"):
                yield node.lineno, f"{name} instead of clock.call_later"
            elif node.attr == "run_in_executor":
                yield node.lineno, f"{name} instead of an InThread"
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name == "random.Random" and not node.args:
                yield node.lineno, "random.Random() without a seed"
            elif name == "asyncio.sleep" and ast.unparse(node.args[0]) != "0":
                yield node.lineno, "asyncio.sleep instead of clock.sleep"


def is_outer(path: Path) -> bool:
    name = path.relative_to(SOURCE).as_posix()
    return any(name == room or name.startswith(f"{room}/") for room in OUTER_ROOMS)


def test_inner_rooms_are_given_time_dice_and_threads() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not is_outer(path)
        for line, what in asked(path.read_text())
    ]
    assert not found, "\n".join(found)


def test_every_outer_room_is_there_and_asks() -> None:
    for room in OUTER_ROOMS:
        place = SOURCE / room
        files = [place] if place.is_file() else [*place.rglob("*.py")]
        assert any(any(asked(file.read_text())) for file in files), f"{room} is not, or asks nothing"


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from time import monotonic",
        "from random import choice",
        "import random\nrandom.choice((1, 2))",
        "import random\nrng = random.Random()",
        "now = datetime.now(UTC)",
        "os.urandom(8)",
        "await asyncio.sleep(1)",
        "asyncio.get_running_loop().call_later(1, f)",
        "await asyncio.to_thread(f)",
        "async with asyncio.timeout(3): pass",
    ],
)
def test_what_asks_the_machine_is_seen(source: str) -> None:
    assert [*asked(f"async def f():\n    {source.replace(chr(10), chr(10) + '    ')}")]


def test_what_is_given_is_not() -> None:
    fine = "import random\nasync def f(rng: random.Random, clock):\n    rng.random()\n    clock.now()\n"
    fine += "    clock.call_later(1, f)\n    await asyncio.sleep(0)\n    await clock.sleep(1)\n"
    assert not [*asked(fine)]
