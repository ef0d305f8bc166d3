"""The log of a longshore process: levels, and JSON for programs."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from longshore.up.logs import JsonLines


def a_record(message: str, *values: object, **more: object) -> logging.LogRecord:
    record = logging.LogRecord("longshore.x", logging.WARNING, "f", 1, message, values, None)
    record.created = 1_767_225_600.5
    record.__dict__.update(more)
    return record


def test_a_record_is_one_json_object_with_its_fields_beside_the_message() -> None:
    line = JsonLines().format(a_record("job: %s: no\nway", "ns/a", fields={"object": "ns/a", "retryIn": 1.5}))
    assert "\n" not in line
    assert json.loads(line) == {
        "ts": "2026-01-01T00:00:00Z",
        "level": "warning",
        "logger": "longshore.x",
        "msg": "job: ns/a: no\nway",
        "object": "ns/a",
        "retryIn": 1.5,
    }


def test_a_traceback_stays_in_its_line() -> None:
    try:
        raise KeyError("x")
    except KeyError:
        line = JsonLines().format(a_record("broken", exc_info=sys.exc_info()))
    assert json.loads(line)["stack"].endswith("KeyError: 'x'")


@pytest.mark.parametrize(("verbosity", "said"), [(0, "w"), (1, "iw"), (2, "diw")])
def test_each_v_says_more(verbosity: int, said: str) -> None:
    program = f"""
import logging
from longshore.up.logs import Logging, configure
configure(Logging({verbosity}, "json"))
log = logging.getLogger("a")
log.debug("d"); log.info("i"); log.warning("w")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "".join(json.loads(line)["msg"] for line in done.stderr.splitlines()) == said
