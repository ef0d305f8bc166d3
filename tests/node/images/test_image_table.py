"""Which entry an image has, and what is wrong with an entry."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.node.images import image_table
from longshore.node.images.image_table import BadImages, ImageEntry, ImageTable, complete_name, rows_of


def table(**given: Any) -> ImageTable:
    return ImageTable((*rows_of(given, "file"), *image_table.BUILT_IN))


def pattern(content: dict[str, Any], image: str) -> str | None:
    row = ImageTable((*rows_of(content, "file"), *image_table.BUILT_IN)).find(image)
    return row.pattern if row is not None else None


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("bitnami/kubectl", "docker.io/bitnami/kubectl:latest"),
        ("registry.example:5000/a/b:2", "registry.example:5000/a/b:2"),
        ("localhost/x", "localhost/x:latest"),
        ("nginx@sha256:abc", "docker.io/library/nginx@sha256:abc"),
        ("nginx:1@sha256:abc", "docker.io/library/nginx:1@sha256:abc"),
    ],
)
def test_names_are_completed_as_kubernetes_does(image: str, full: str) -> None:
    assert str(complete_name(image)) == full


@pytest.mark.parametrize(
    ("given", "image", "matches"),
    [
        ("nginx:*", "nginx", True),
        ("nginx:*", "docker.io/library/nginx:1.27", True),
        ("nginx:*", "nginx@sha256:0123", True),
        ("nginx:*", "registry.example/nginx:1", False),
        ("nginx", "nginx:1.27", True),
        ("nginx:1.*", "nginx:1.27", True),
        ("nginx:1.*", "nginx:2", False),
        ("nginx:1.*", "nginx@sha256:0123", False),
        ("nginx@sha256:01*", "nginx:1@sha256:0123", True),
        ("nginx@sha256:01*", "nginx:1", False),
        ("*/nginx:*", "registry.example/deep/nginx:1", True),
        ("*/nginx:*", "nginx", True),
        ("*/nginx:*", "mynginx", False),
        ("registry.example:5000/tools/*", "registry.example:5000/tools/lint:3", True),
        ("bitnami/*", "docker.io/bitnami/kubectl:1", True),
        ("*", "anything/at:all", True),
    ],
)
def test_a_pattern_is_compared_with_the_full_name(given: str, image: str, matches: bool) -> None:
    assert (pattern({given: ["true"]}, image) == given) is matches


@pytest.mark.parametrize(
    ("content", "image", "wins"),
    [
        (("*", "*/nginx:*", "nginx:*", "nginx:1.27"), "nginx:1.27", "nginx:1.27"),
        (("nginx:1.27", "nginx:*", "*"), "nginx:1.26", "nginx:*"),
        (("*", "*/nginx:*"), "registry.example/nginx", "*/nginx:*"),
        (("nginx*", "nginx"), "nginx", "nginx"),
        (("nginx:1*", "nginx@sha256:0123"), "nginx:1@sha256:0123", "nginx@sha256:0123"),
    ],
)
def test_the_most_particular_pattern_wins(content: tuple[str, ...], image: str, wins: str) -> None:
    assert pattern({each: ["true"] for each in content}, image) == wins


def test_a_users_entry_wins_over_a_built_in_one_of_its_kind() -> None:
    for own in ("busybox:*", "*/busybox:*", "*/busybox"):
        found = ImageTable((*rows_of({own: ["mine"]}, "file"), *image_table.BUILT_IN)).find("busybox:1")
        assert found is not None
        assert found.entry == ImageEntry(command=("mine",))
    assert pattern({"*": ["mine"]}, "busybox:1") == "*/busybox:*"


def test_a_list_is_a_command_and_a_mapping_has_fields() -> None:
    found = table(
        a=["x", "y"], b={"command": ["c"], "args": ["d"], "path": "~/bin", "applets": "busybox"}, c={}
    )
    assert [row.entry for row in found.rows[:3]] == [
        ImageEntry(command=("x", "y")),
        ImageEntry(("c",), ("d",), ("~/bin",), "busybox"),
        ImageEntry(),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            ["a"],
            "it must be a mapping from patterns of image names to a list of words, or a mapping ",
        ),
        ({"a": "sleep"}, '"a": it must be a list of words, or .* not the text "sleep"'),
        ({"a": None}, '"a": it must be a list of words, or .* not nothing'),
        ({"a": []}, '"a": it must be a list of words, not an empty list'),
        ({"a": ["sleep", 5]}, '"a": the number 5 must be a text; write it in quotes'),
        ({"a": {"cmd": ["x"]}}, '"a": there is no field "cmd"; there are: command, args, path, applets'),
        ({"a": {"command": "x"}}, '"a".command: it must be a list of words, not the text "x"'),
        ({"a": {"path": "bin"}}, '"a".path: "bin" must begin with / or ~'),
        ({"a": {"path": "/a:/b"}}, '"a".path: "/a:/b" holds a colon; write several directories as a list'),
        ({"a": {"applets": ["busybox"]}}, '"a".applets: it must be the name of a program, not a list'),
        ({"": ["x"]}, '"" is no pattern of image names'),
        ({" a": ["x"]}, '" a" is no pattern of image names'),
    ],
)
def test_a_mistake_is_told_with_its_entry_field_and_rule(content: Any, message: str) -> None:
    with pytest.raises(BadImages, match=message):
        rows_of(content, "file")
