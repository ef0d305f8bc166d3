"""Plays the recorded commands in order against one fresh longshore, each exactly once.

Every command builds on the objects that those before it left behind, so asking for the outcome of one
first plays all before it: a single test can be run alone, and a failure stops nothing.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kubectl.recording_proxy import RecordingProxy, Seen
from support.kubectl_binary import Kubectl
from support.longshore_process import RunningLongshore

NAMESPACE = "demo"
_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u, namespace: {namespace}}}}}]
current-context: x
"""


@dataclass
class Outcome:
    exit: int | None
    """None where the command was stopped, as in the recording."""
    stdout: str
    stderr: str
    requests: list[Seen]


class Stage:
    def __init__(
        self, longshore: RunningLongshore, proxy: RecordingProxy, home: Path, commands: list[dict[str, Any]]
    ) -> None:
        self._longshore, self._proxy, self._commands = longshore, proxy, commands
        self._outcomes: list[Outcome] = []
        kubeconfig = home / "kubeconfig"
        kubeconfig.write_text(_KUBECONFIG.format(server=proxy.url, namespace=NAMESPACE))
        self._kubectl = Kubectl(home, kubeconfig)
        longshore.made("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})

    def outcome(self, number: int) -> Outcome:
        while len(self._outcomes) <= number:
            self._outcomes.append(self._play(self._commands[len(self._outcomes)]))
        return self._outcomes[number]

    def _play(self, recorded: Mapping[str, Any]) -> Outcome:
        home = self._kubectl.home
        if recorded.get("coldCache"):
            shutil.rmtree(home / ".kube", ignore_errors=True)
        for name, content in recorded.get("files", {}).items():
            (home / name).write_text(content)
            if content.startswith("#!"):
                (home / name).chmod(0o755)
        self._call(recorded.get("before", ()))
        self._proxy.seen = []
        env = {k: v.replace("<dir>", str(home)) for k, v in recorded.get("env", {}).items()}
        process = self._kubectl.start(*recorded["command"][1:], env=env)
        try:
            return self._watch_over(process, recorded)
        finally:
            process.kill()
            process.wait()

    def _watch_over(self, process: subprocess.Popen[str], recorded: Mapping[str, Any]) -> Outcome:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = _Reader(process.stdout), _Reader(process.stderr)
        process.stdin.write(recorded.get("stdin", ""))
        process.stdin.close()
        stopped = bool(recorded.get("stoppedBySignal"))
        if recorded.get("during"):
            self._proxy.wait_for(_is_watch)
            if stopped:
                # What it prints of the list must be there before the change, or the change is in the list.
                out.wait_for_lines(recorded["stdout"].count("\n") - len(recorded["during"]))
            self._call(recorded["during"])
        if stopped:
            out.wait_for_lines(recorded["stdout"].count("\n"))
            time.sleep(0.1)  # for a line too many
            process.send_signal(signal.SIGINT)
        elif "exit" not in recorded:
            # Only the requests count. Some wait long for what never comes here, or try again and again.
            last = recorded["requests"][-1]
            self._proxy.wait_for(lambda seen: _is_like(seen, last), unless=lambda: process.poll() is not None)
            process.send_signal(signal.SIGINT)
        code = process.wait(30)
        return Outcome(None if stopped else code, out.all(), err.all(), self._proxy.seen)

    def _call(self, calls: Any) -> None:
        """What the tester does by itself around a command."""
        for call in calls:
            self._longshore.made(
                call["method"],
                call["path"],
                self._named(call.get("body")),
                query=call.get("query"),
                content_type=call.get("contentType", "application/json"),
            )

    def _named(self, body: Any) -> Any:
        """Puts the uid of a living object where the recording says `<uid of job pi>`."""
        if isinstance(body, dict):
            return {k: self._named(v) for k, v in body.items()}
        if isinstance(body, list):
            return [self._named(item) for item in body]
        asked = re.fullmatch(r"<uid of job (\S+)>", body) if isinstance(body, str) else None
        if asked is None:
            return body
        path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{asked[1]}"
        return self._longshore.made("GET", path)["metadata"]["uid"]


def _is_watch(seen: Seen) -> bool:
    return seen.query.get("watch") == "true"


def _is_like(seen: Seen, recorded: Mapping[str, Any]) -> bool:
    """The same but for names: which of two pods is asked first is up to chance."""
    ends = [path.rpartition("/")[2] for path in (seen.path, recorded["path"])]
    return ends[0] == ends[1] and _is_watch(seen) == ("watch" in recorded.get("query", {}))


class _Reader:
    def __init__(self, stream: IO[str]) -> None:
        self._lines: list[str] = []
        self._more = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self._more:
                    self._lines.append(line)
                    self._more.notify_all()

    def wait_for_lines(self, count: int) -> None:
        """At most ten seconds; what is missing then shows in the comparison."""
        with self._more:
            self._more.wait_for(lambda: len(self._lines) >= count, 10)

    def all(self) -> str:
        self._thread.join(10)
        return "".join(self._lines)
