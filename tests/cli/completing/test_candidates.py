"""The words that complete a command line: commands, verbs, flags, their values, kinds and names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from longshore.cli import completing, main


class Scripted:
    """A server with two Jobs and a pod."""

    def kinds(self) -> Sequence[str]:
        return ["jobs", "pods", "jobflows"]

    def names(self, kind: str) -> Sequence[str]:
        known = {
            "pods": ["web"],
            "namespaces": ["default", "other"],
            "nodes": ["here"],
            "cronjobs": ["night"],
        }
        return {"job": ["a", "b"], "jobs": ["a", "b"], **known}.get(kind, [])

    def contexts(self) -> Sequence[str]:
        return ["longshore", "far"]

    def containers(self, pod: str) -> Sequence[str]:
        return ["main", "side"] if pod == "web" else []


def completed(line: str) -> list[str]:
    words, current = completing.split(f"longshore {line}")
    return [each.word for each in completing.complete(words, current, Scripted())]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ge", ["get"]),
        ("help ex", ["exec", "explain"]),
        ("job l", ["list"]),
        ("job list --sel", ["--selector"]),
        ("get jo", ["jobs", "jobflows"]),
        ("get jobs ", ["a", "b"]),
        ("get jobs a ", ["b"]),
        ("get job/", ["job/a", "job/b"]),
        ("delete job/a ", ["jobs/", "pods/", "jobflows/"]),
        ("get -n ", ["default", "other"]),
        ("get --namespace=o", ["--namespace=other"]),
        ("get --context ", ["longshore", "far"]),
        ("get -o j", ["json", "jsonpath="]),
        ("get jobs -o yaml --sort", ["--sort-by"]),
        ("get --show-l", ["--show-labels"]),
        ("get --no-show-l", ["--no-show-labels"]),
        ("logs ", ["web", "job/", "pod/", "vcjob/"]),
        ("logs job/a", ["job/a"]),
        ("logs web -c ", ["main", "side"]),
        ("exec web -- ", []),
        ("explain po", ["pods"]),
        ("top p", ["pod", "pods", "po"]),
        ("top pod ", ["web"]),
        ("top nodes ", ["here"]),
        ("auth can-i cr", ["create"]),
        ("auth can-i create p", ["pods"]),
        ("cron run ", ["night"]),
        ("wait --for=d", ["--for=done", "--for=delete"]),
        ("up --runtime ", ["process", "podman", "auto"]),
        ("completion z", ["zsh"]),
        ("man com", ["completion"]),
        ("-n other ge", ["get"]),
        ("--kubeconfig=f -n other get jobs ", ["a", "b"]),
        ("-n ", []),
        ("nonsense ", []),
        ("get 'jo", ["jobs", "jobflows"]),
        ("apply -f ", []),
    ],
)
def test_a_line_is_completed(line: str, words: list[str]) -> None:
    assert sorted(completed(line)) == sorted(words)


def test_every_command_and_flag_is_offered_with_its_meaning() -> None:
    words, current = completing.split("longshore ")
    found = completing.complete(words, current, Scripted())
    assert [each.word for each in found] == [*main.names(), "help"]
    assert all(each.meaning for each in found)
    for name in main.names():
        flags = completing.complete([name], "--", Scripted())
        assert all(each.meaning for each in flags)


def test_tables_of_the_completion_name_commands_that_exist() -> None:
    assert set(main.names()) >= completing._OBJECTS | completing._PODS
