"""A longshore with its dashboard in a real browser, for tests, screenshots and measurements."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from longshore.api.facts.kinds import CRON_JOBS, JOBS, VOLCANO_JOBS
from support.longshore_process import RunningLongshore, Up
from support.manifests import manifest

CHROMIUM = os.environ.get("LONGSHORE_TEST_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 30_000
WIDE = (1440, 900)
NARROW = (390, 844)

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Seen:
    """One page, and what went wrong on it."""

    page: Page
    site: Dashboard
    problems: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of problems that a test means to cause."""

    def watch(self) -> None:
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text} {message.location.get('url', '')}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(
            (self.site.url, self.site.url.replace("https", "wss"), "blob:", "data:")
        ):
            self.problems.append(f"a request left the origin: {request.url}")

    def go(self, path: str) -> None:
        self.page.goto(self.site.url + path)

    def check(self) -> None:
        left = [each for each in self.problems if not any(part in each for part in self.expected)]
        assert not left, "\n".join(left)


@dataclass
class Dashboard:
    browser: Browser
    up: Up
    port: int

    @property
    def longshore(self) -> RunningLongshore:
        return self.up.client

    @property
    def url(self) -> str:
        return self.longshore.server

    def link(self, user: str = "") -> str:
        headers = {"Authorization": f"Bearer {self.longshore.token}"} | (
            {"Impersonate-User": user} if user else {}
        )
        asked = urllib.request.Request(
            f"{self.url}/apis/longshore.dev/v1/uilogins", b"{}", headers, method="POST"
        )
        with urllib.request.urlopen(asked, context=self.longshore.tls, timeout=20) as answer:
            return f"{self.url}{json.load(answer)['status']['path']}"

    def link_of_command(self, *words: str) -> str:
        """A login link, as a person gets it."""
        config = str(self.longshore.kubeconfig)
        command = [sys.executable, "-m", "longshore", "ui", "--no-open", "--kubeconfig", config, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0]

    def context(self, *, dark: bool = False, size: tuple[int, int] = WIDE, **more: Any) -> BrowserContext:
        view = {"width": size[0], "height": size[1]}
        return self.browser.new_context(
            ignore_https_errors=True,  # the browser does not know longshore's own authority
            color_scheme="dark" if dark else "light",
            viewport=view,  # type: ignore[arg-type]
            timezone_id="Europe/Berlin",
            locale="en-GB",
            **more,
        )

    @contextlib.contextmanager
    def page(
        self, user: str = "", *, dark: bool = False, size: tuple[int, int] = WIDE, **more: Any
    ) -> Iterator[Seen]:
        """A page that is logged in, as the administrator or as this user."""
        context = self.context(dark=dark, size=size, **more)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        seen = Seen(page, self)
        seen.watch()
        try:
            page.goto(self.link(user))
            page.wait_for_url(f"{self.url}/ui/")
            yield seen
        finally:
            context.close()

    def create(self, *objects: dict[str, Any]) -> None:
        for obj in objects:
            namespace = obj["metadata"].get("namespace", "default")
            group, _, version = obj["apiVersion"].rpartition("/")
            root = f"/apis/{group}/{version}" if group else f"/api/{version}"
            scope = "" if obj["kind"] in _CLUSTER else f"/namespaces/{namespace}"
            self.longshore.made(
                "POST", f"{root}{scope}/{_PLURALS.get(obj['kind'], obj['kind'].lower() + 's')}", obj
            )

    def restart(self) -> None:
        """Stops longshore, and starts it again on the same port and data."""
        self.up.stop()
        self.up.start("--port", str(self.port))


_CLUSTER = ("ClusterRole", "ClusterRoleBinding", "Namespace", "Queue")
_PLURALS = {"CronJob": "cronjobs", "ServiceAccount": "serviceaccounts"}


@contextlib.contextmanager
def dashboard(directory: Path, *options: str) -> Iterator[Dashboard]:
    up = Up(directory, *options)
    up.begin()
    try:
        port = int(up.meet().server.rpartition(":")[2])
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            yield Dashboard(browser, up, port)
            browser.close()
    finally:
        up.stop()


def job(name: str, command: str, *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A Job whose container runs a line of shell."""
    meta = {"labels": labels} if labels else {}
    return manifest(JOBS, name, {"template": _template(command), **spec}, **meta)


def cronjob(name: str, schedule: str, command: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": job(name, command)["spec"]}
    return manifest(CRON_JOBS, name, {"schedule": schedule, "jobTemplate": template, **spec})


def gang(name: str, replicas: int, cpu: str = "1m", command: str = "sleep 600") -> dict[str, Any]:
    """A Volcano Job of one task, all of whose pods must be there."""
    template = _template(command, resources={"requests": {"cpu": cpu}})
    task = {"name": "worker", "replicas": replicas, "template": template}
    spec = {"minAvailable": replicas, "schedulerName": "volcano", "tasks": [task]}
    return manifest(VOLCANO_JOBS, name, spec)


def _template(command: str, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "local", "command": ["sh", "-c", command], **more}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}
