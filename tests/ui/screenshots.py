"""Pictures of every page of the dashboard, light and dark, wide and narrow: `tools/screenshots [FOLDER]`.

`--docs` makes those of the docs instead, in docs/pictures.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect

from support.places import ROOT
from ui import sample_work
from ui.dashboard import NARROW, WIDE, Dashboard, Seen, dashboard
from ui.pages_in_docs import IN_DOCS

JOB = "/ui/jobs/default/render-frames"
PAGES = {
    "overview": ("/ui/", ".problems"),
    "jobs": ("/ui/jobs", ".tr .badge"),
    "job": (JOB, "ls-gantt canvas"),
    "job-index": (f"{JOB}?index=11", ".attempts li"),
    "job-logs": (f"{JOB}?tab=logs", ".log-line"),
    "job-events": (f"{JOB}?tab=events", ".event-list li"),
    "job-yaml": (f"{JOB}?tab=yaml", ".code"),
    "cronjobs": ("/ui/cronjobs", ".tr .badge"),
    "cronjob": ("/ui/cronjobs/default/nightly-backup", ".day .coming"),
    "gangs": ("/ui/gangs", ".tr .badge"),
    "gang": ("/ui/gangs/default/train-resnet", ".square"),
    "gang-waiting": ("/ui/gangs/default/train-huge", ".notice"),
    "jobflow": ("/ui/jobflows/default/weekly-model", ".step"),
    "pods": ("/ui/pods", ".tr .badge"),
    "pod": ("/ui/pods/default/worker", ".pairs"),
    "pod-logs": ("/ui/pods/default/worker?tab=logs", ".log-line"),
    "queue": ("/ui/queues/research", ".share"),
    "history": ("/ui/history", ".tr .badge"),
    "timeline": ("/ui/timeline", ".empty"),
}
LOOKS = {"light": False, "dark": True}
SIZES = {"wide": WIDE, "narrow": NARROW}


def main(words: list[str]) -> int:
    docs = "--docs" in words
    folder = ROOT / "docs" / "pictures" if docs else Path(next(iter(words), "build/screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "data"
        place.mkdir(mode=0o700)
        with dashboard(place) as site:
            _prepare(site)
            if docs:
                for name, look in IN_DOCS.items():
                    with site.page(dark=LOOKS[look], size=(1280, 800)) as seen:
                        _take(seen, name, folder / f"ui-{name}.png")
                return 0
            for look, dark in LOOKS.items():
                for width, size in SIZES.items():
                    with site.page(dark=dark, size=size) as seen:
                        for name in PAGES:
                            _take(seen, name, folder / f"{name}-{look}-{width}.png")
    return 0


def _prepare(site: Dashboard) -> None:
    """Creates the work, and waits until a third of the large Job is done."""
    sample_work.create(site)
    with site.page() as seen:
        for _ in range(3):
            seen.go("/ui/cronjobs/default/nightly-backup")
            seen.page.get_by_role("button", name="Run now").click()
            seen.page.get_by_role("dialog").get_by_role("button", name="Run now").click()
            expect(seen.page.get_by_role("dialog")).to_have_count(0)
    while (
        site.longshore.made("GET", "/apis/batch/v1/namespaces/default/jobs/render-frames")["status"].get(
            "succeeded", 0
        )
        < 80
    ):
        time.sleep(0.5)


def _take(seen: Seen, name: str, path: Path) -> None:
    address, ready = PAGES[name]
    seen.go(address)
    expect(seen.page.locator(ready).first).to_be_visible()
    if name == "pod-logs" and seen.page.get_by_role("button", name="Open a shell").count():
        seen.page.get_by_role("button", name="Open a shell").click()
        expect(seen.page.get_by_text("connected", exact=True)).to_be_visible()
        seen.page.get_by_role("textbox", name="Terminal.").press_sequentially("uname -s; echo $LEVEL\n")
    seen.page.wait_for_timeout(900)  # for stories, charts and logs that come after the first drawing
    seen.page.screenshot(path=path)
    print(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
