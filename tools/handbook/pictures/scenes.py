"""The sessions that are recorded: what is typed, and how large the terminal is."""

from __future__ import annotations

from typing import NamedTuple


class Scene(NamedTuple):
    title: str
    """Read aloud instead of the picture."""
    commands: tuple[str, ...]
    rows: int
    columns: int = 100
    before: tuple[str, ...] = ()
    """Typed before the recording begins."""
    is_film: bool = False


_UP = "longshore up &"
_FILES = (
    "cd ~; mkdir data; touch data/{april,may,june,july}.csv",
    'printf \'#!/bin/sh\\necho "reading $1"\\n'
    'case $1 in *june*) echo "$1: line 7 has no date" >&2; exit 3; esac\\n\' >check.sh; chmod +x check.sh',
)
_EACH = "ls data/*.csv | longshore run --name report --parallelism 4 --each - -- ./check.sh {}"
_NAP = (
    "cd ~; printf 'apiVersion: v1\\nkind: Pod\\nmetadata: {name: nap}\\nspec: {restartPolicy: Never, "
    'containers: [{name: nap, image: busybox, command: [sleep, "600"]}]}\\n\' >nap.yaml'
)
_TREE = "ps -e --forest -o pid,ppid,comm | grep -v -E 'bash|ps|grep'"

SCENES = {
    "demo": Scene(
        "longshore run shows a bar that fills while sixty processes run, eight at a time",
        ("longshore run --throw-away examples/demo-job.yaml",),
        rows=8,
        is_film=True,
    ),
    "start-run": Scene(
        "longshore run runs a command twelve times, four at a time, and says when all are complete",
        (
            "longshore run -- echo hello",
            "longshore run --completions 12 --parallelism 4 -- sleep 0.4",
        ),
        rows=14,
    ),
    "start-each": Scene(
        "longshore run takes one file name per line; one of the four fails, and its last lines are shown",
        ("cat check.sh", _EACH),
        rows=24,
        columns=124,
        before=_FILES,
    ),
    "start-up": Scene(
        "longshore up says where its kubeconfig is, and longshore status what runs",
        (_UP, "longshore status"),
        rows=16,
        columns=128,
    ),
    "start-apply": Scene(
        "kubectl applies a Job of five greetings, waits for it and prints a log",
        (
            "export KUBECONFIG=~/.local/share/longshore/kubeconfig",
            "kubectl apply -f examples/hello-job.yaml",
            "kubectl wait --for=condition=complete job/hello",
            "kubectl get pods",
            "kubectl logs job/hello | tail -1",
        ),
        rows=18,
        before=(_UP,),
    ),
    "start-why": Scene(
        "longshore why tells what happened to a Job with a failed item, longshore logs what it printed",
        ("longshore why job/report", "longshore logs --failed job/report"),
        rows=24,
        columns=130,
        before=(*_FILES, _UP, _EACH),
    ),
    "keeper": Scene(
        "a pod's process keeps running after kill -9 of longshore, and the next longshore finds it again",
        (
            "longshore apply -f nap.yaml",
            "longshore wait --for=condition=Ready pod/nap",
            _TREE,
            "kill -9 %1; sleep 1",
            _TREE,
            _UP,
            "longshore get pod nap",
        ),
        rows=26,
        columns=128,
        before=(_NAP, _UP),
    ),
}
