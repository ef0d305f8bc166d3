"""Names of images, completed as Kubernetes does."""

from __future__ import annotations

import pytest

from longshore.node.runtimes.podman_arguments import reference


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("team/app", "docker.io/team/app:latest"),
        ("localhost/app", "localhost/app:latest"),
        ("registry.example:5000/a/b:v1", "registry.example:5000/a/b:v1"),
        ("example.com/a@sha256:" + "0" * 64, "example.com/a@sha256:" + "0" * 64),
    ],
)
def test_a_name_is_completed(given: str, full: str) -> None:
    assert reference(given) == full


@pytest.mark.parametrize("wrong", ["", "Upper", "a:b:c", "a b", "https://x/y", "a/", "-x"])
def test_what_is_no_name_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="invalid reference format"):
        reference(wrong)
