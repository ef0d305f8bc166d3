"""axe-core finds no serious problem on any page, light or dark, wide or narrow; the keyboard is enough."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.places import ROOT
from ui.dashboard import NARROW, WIDE, Dashboard, Seen, cronjob, gang, job

AXE = ROOT / ".tools" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
"""Fetched by tools/lint-ui."""
RUN = """async () => {
  const found = await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]});
  return found.violations.map((each) => ({
    id: each.id, impact: each.impact,
    nodes: each.nodes.map((node) => `${node.target} ${node.failureSummary}`),
  }));
}"""
PAGES = [
    ("/ui/", ".figure"),
    ("/ui/jobs", ".tr"),
    ("/ui/jobs/default/seen", "ls-index-grid canvas"),
    ("/ui/jobs/default/seen?tab=logs", ".log-line"),
    ("/ui/jobs/default/seen?tab=pods", ".tr"),
    ("/ui/jobs/default/seen?tab=events", ".event-list li"),
    ("/ui/jobs/default/seen?tab=yaml", ".code"),
    ("/ui/cronjobs", ".tr"),
    ("/ui/cronjobs/default/daily", ".day"),
    ("/ui/gangs/default/team", ".square"),
    ("/ui/pods", ".tr"),
    ("/ui/queues/default", ".share"),
    ("/ui/history", ".tr"),
    ("/ui/timeline", ".empty"),
]


@pytest.fixture(scope="module")
def made(site: Dashboard) -> Dashboard:
    indexed = {"completions": 8, "completionMode": "Indexed", "backoffLimitPerIndex": 0, "parallelism": 4}
    site.create(
        job("seen", "echo hello; [ $JOB_COMPLETION_INDEX != 3 ]", **indexed),
        cronjob("daily", "30 2 * * *", "true"),
        gang("team", 2),
    )
    return site


def problems(page: Page) -> list[Any]:
    page.evaluate(AXE.read_text())
    found: list[Any] = page.evaluate(RUN)
    return [each for each in found if each["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(
    ("dark", "size"), [(False, WIDE), (True, NARROW)], ids=["light and wide", "dark and narrow"]
)
def test_axe_finds_no_serious_problem_on_any_page(made: Dashboard, dark: bool, size: tuple[int, int]) -> None:
    found = {}
    with made.page(dark=dark, size=size) as seen:
        for path, ready in PAGES:
            seen.go(path)
            expect(seen.page.locator(ready).first).to_be_visible()
            if wrong := problems(seen.page):
                found[path] = wrong
            wide = seen.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{path} is {wide} px too wide"
        seen.page.keyboard.press("/")
        expect(seen.page.get_by_role("dialog")).to_be_visible()
        if wrong := problems(seen.page):
            found["palette"] = wrong
    seen.check()
    assert not found


def test_the_keyboard_is_enough_to_find_and_open_a_job(made: Dashboard, seen: Seen) -> None:
    page = seen.page
    seen.go("/ui/jobs?q=seen")
    expect(page.get_by_role("row").filter(has_text="seen")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    rows = page.get_by_role("rowgroup", name="Jobs, rows")
    for _ in range(20):
        page.keyboard.press("Tab")
        if rows.evaluate("each => each === document.activeElement"):
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/jobs/default/seen")


def test_no_motion_is_shown_to_those_who_want_none(made: Dashboard) -> None:
    with made.page(reduced_motion="reduce") as seen:
        seen.go("/ui/jobs")
        bar = seen.page.locator(".bar > span").first
        expect(bar).to_be_visible()
        assert bar.evaluate("each => getComputedStyle(each).transitionDuration") in ("0s", "1e-05s")
