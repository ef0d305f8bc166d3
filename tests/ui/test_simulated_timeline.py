"""The page that `longshore sim -o html` writes, of ten thousand pods in a real Chromium, in another zone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from longshore.sim.pictures import page as pages
from longshore.sim.pictures import timeline
from longshore.sim.sim_result import SimResult
from sim.worlds import DAY, job, played
from ui.dashboard import Dashboard

PODS = 10_000
APART_SECONDS = 5.0


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One simulated pod, and ten thousand like it, each a little later."""
    with ThreadPoolExecutor(1) as thread:  # the browser's loop has this one
        result = thread.submit(played, job("report"), seconds=DAY).result()
    one = result.bars[0]
    assert one.started is not None
    assert one.ended is not None
    bars = []
    for number in range(PODS):
        later = number * APART_SECONDS
        bars.append(
            replace(
                one,
                name=f"report-{number}",
                created=one.created + later,
                started=one.started + later,
                ended=one.ended + later,
            )
        )
    many: SimResult = replace(result, bars=bars, seconds=PODS * APART_SECONDS + 60)
    found = tmp_path_factory.mktemp("sim") / "many.html"
    shown = timeline.of("Simulation of many", {"": many})
    found.write_text(pages.of(shown, {"": many}), encoding="utf-8")
    return found


@pytest.fixture
def shown(site: Dashboard, file: Path) -> Iterator[Page]:
    """The page. Fails for anything in the console, and for any request but that for the page."""
    context = site.browser.new_context(timezone_id="America/New_York", locale="en-GB")
    problems: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda asked: asked.url == file.as_uri() or problems.append(asked.url))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert not problems, problems


def pixels(page: Page) -> Any:
    return page.evaluate("() => document.querySelector('ls-gantt canvas').toDataURL()")


def unfold(page: Page) -> None:
    """Unfolds the lane of the Job."""
    page.locator("ls-gantt canvas").click(position={"x": 40, "y": 24 + 22 + 11})
    page.wait_for_function("() => document.querySelector('ls-gantt').lanes.length > 1000")


def point(page: Page, number: int) -> None:
    """Moves the pointer to the middle of the bar of a pod that is in sight, below the node and the Job."""
    place = page.evaluate(
        """(number) => {
            const gantt = document.querySelector('ls-gantt'), lane = number + 2;
            const bar = gantt.lanes[lane].row.bars[0];
            const { start, end } = gantt.shownRange, box = gantt.canvas.getBoundingClientRect();
            const wide = gantt.canvas.clientWidth - gantt.gutter - 8;
            const share = ((bar.from + bar.to) / 2 - start) / (end - start);
            return [box.x + gantt.gutter + share * wide, box.y + 24 + lane * 22 + 11 - gantt.top];
        }""",
        number,
    )
    page.mouse.move(*place)


def test_the_pointer_tells_what_a_bar_is_in_the_zone_of_the_simulation(shown: Page) -> None:
    unfold(shown)
    point(shown, 3)
    tip = shown.locator(".tip")
    expect(tip).to_contain_text("3")
    expect(tip).to_contain_text("succeeded")
    expect(tip).to_contain_text("27 Mar 00:00:15 to 27 Mar 00:01:15, 1m")
    expect(tip).to_contain_text("on node-0")


def test_zooming_shows_a_part_and_the_button_the_whole_again(shown: Page) -> None:
    whole, button = pixels(shown), shown.get_by_role("button", name="Whole")
    expect(button).to_be_disabled()
    shown.get_by_label("Zoom in").click()
    expect(button).to_be_enabled()
    assert pixels(shown) != whole
    button.click()
    expect(button).to_be_disabled()
    assert pixels(shown) == whole


def test_the_last_of_ten_thousand_rows_is_one_turn_of_the_wheel_away(shown: Page) -> None:
    unfold(shown)
    shown.locator("ls-gantt canvas").hover()
    shown.mouse.wheel(0, 1e7)
    shown.wait_for_function("() => document.querySelector('ls-gantt').top > 200000")
    point(shown, PODS - 1)
    expect(shown.locator(".tip")).to_contain_text(f"{PODS - 1}")


def test_pods_are_folded_into_the_lane_of_their_job(shown: Page) -> None:
    chart = shown.get_by_role("img", name="Simulation of many: 2 rows over")
    expect(chart).to_be_visible()
    shown.get_by_role("button", name="Unfold all").click()
    expect(shown.get_by_role("img", name=f"Simulation of many: {PODS + 2} rows over")).to_be_visible()
    shown.get_by_role("button", name="Fold all", exact=True).click()
    expect(chart).to_be_visible()


def test_the_table_beside_the_bars_says_how_work_went(shown: Page) -> None:
    shown.mouse.move(
        40, shown.evaluate("() => document.querySelector('canvas').getBoundingClientRect().y + 57")
    )
    expect(shown.locator(".tip")).to_contain_text("result: complete")
    assert (
        len(shown.evaluate("() => document.querySelector('ls-gantt').columns")) == len(timeline.COLUMNS) + 1
    )


def test_the_picture_fills_the_window(shown: Page) -> None:
    for tall in (500, 900):
        shown.set_viewport_size({"width": 1200, "height": tall})
        shown.wait_for_function(
            "() => { const box = document.querySelector('canvas').getBoundingClientRect();"
            " return box.bottom > innerHeight - 30 && box.bottom <= innerHeight; }"
        )
