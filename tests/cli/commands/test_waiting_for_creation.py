"""`wait --for=create` with a selector: met by the objects that have its labels, now or later."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")

BOX = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}, labels: {{created: {}}}}}\n"


@pytest.fixture(autouse=True)
def no_boxes(longshore: Command) -> Iterator[None]:
    yield
    longshore.ok("delete", "cm", "-l", "created")


def test_objects_that_exist_are_found_by_their_labels(longshore: Command) -> None:
    longshore.ok("apply", "-f", "-", stdin=BOX.format("a", "x") + "---\n" + BOX.format("b", "x"))
    met = longshore.ok("wait", "--for=create", "cm", "-l", "created=x", "--timeout=5s")
    assert met == "configmap/a condition met\nconfigmap/b condition met\n"
    assert longshore.ok("wait", "--for=create", "cm", "-l", "created=x", "--timeout=0") == met
    named = longshore.ok("wait", "--for=create", "cm", "-A", "--field-selector=metadata.name=a", "-o", "name")
    assert named == "configmap/a\n"


def test_objects_that_come_later_are_found_by_their_labels(longshore: Command) -> None:
    waiting = longshore.start("wait", "--for=create", "cm", "-l", "created=later", "--timeout=60s")
    longshore.ok("apply", "-f", "-", stdin=BOX.format("other", "x") + "---\n" + BOX.format("c", "later"))
    assert waiting.communicate(timeout=60) == ("configmap/c condition met\n", "")


@pytest.mark.parametrize("timeout", ["0", "10ms"])
def test_objects_that_do_not_come_are_told_as_kubectl_does(longshore: Command, timeout: str) -> None:
    done = longshore("wait", "--for=create", "cm", "-l", "created=never", f"--timeout={timeout}")
    assert (done.exit, done.stdout) == (1, "")
    assert done.stderr == "error: timed out waiting for the condition\n"
