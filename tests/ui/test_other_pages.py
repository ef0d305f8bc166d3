"""CronJobs, gangs, pods and queues in the browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from ui.dashboard import Dashboard, Seen, cronjob, gang, job


def test_failed_indexes_are_retried_in_a_new_job(site: Dashboard, seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    work = f"[ $JOB_COMPLETION_INDEX != 1 ] || [ -e {tmp_path}/mended ]"
    spec = {"completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
    site.create(job("mends", work, **spec))
    seen.go("/ui/jobs/default/mends")
    expect(page.locator(".page-head")).to_contain_text("failed")
    (tmp_path / "mended").touch()
    page.get_by_role("button", name="Retry").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    page.get_by_role("link", name="mends-retry-1").click()
    expect(page.locator(".page-head")).to_contain_text("complete")
    expect(page.get_by_label("Progress", exact=True).first).to_contain_text("3of 3 done")
    pods = site.longshore.made(
        "GET", "/api/v1/namespaces/default/pods?labelSelector=job-name%3Dmends-retry-1"
    )
    assert len(pods["items"]) == 1


def test_a_cronjob_shows_its_calendar_and_runs_now(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(cronjob("weekly", "30 2 * * 0", "echo done", timeZone="Europe/Berlin"))
    seen.go("/ui/cronjobs/default/weekly")
    expect(page.get_by_text("days and times of Europe/Berlin")).to_be_visible()
    expect(page.locator(".day .coming", has_text="02:30").first).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    run = page.locator(".run-list li").first
    expect(run).to_contain_text("complete")
    expect(run).to_contain_text("by hand")
    page.get_by_role("button", name="Suspend").click()
    page.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(page.locator(".page-head")).to_contain_text("suspended")


def test_a_gang_that_waits_says_for_what_with_numbers(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(gang("greedy", 2, cpu="500"))
    seen.go("/ui/gangs/default/greedy")
    expect(page.locator(".page-head")).to_contain_text("pending")
    expect(page.locator(".notice")).to_contain_text("Waits for 2 pods at once")
    expect(page.locator(".notice")).to_contain_text("1,000 CPU")
    expect(page.get_by_role("img", name="worker 0: not created")).to_be_visible()
    seen.go("/ui/")
    expect(page.get_by_role("region", name="Problems")).to_contain_text("gang greedy waits for 2 pods")


def test_a_gang_that_runs_shows_its_tasks_and_stops_when_told(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(gang("crew", 3))
    seen.go("/ui/gangs/default/crew")
    expect(page.get_by_role("link", name="crew-worker-2: running")).to_be_visible()
    page.get_by_role("button", name="Suspend").click()
    page.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(page.locator(".page-head")).to_contain_text("aborted")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.locator(".page-head")).to_contain_text("running")


def test_a_shell_in_a_container_is_typed_into(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    container = {"name": "main", "image": "local", "command": ["sleep", "600"]}
    container["env"] = [{"name": "API_TOKEN", "value": "hush"}, {"name": "LEVEL", "value": "full"}]  # type: ignore[assignment]
    site.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "reached"},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        }
    )
    seen.go("/ui/pods/default/reached")
    page.get_by_text("Variables (2)").click()
    expect(page.get_by_text("full", exact=True)).to_be_visible()
    expect(page.get_by_text("hush")).to_have_count(0)
    page.get_by_role("tab", name="Logs and terminal").click()
    page.get_by_role("button", name="Open a shell").click()
    terminal = page.get_by_role("textbox", name="Terminal.")
    expect(page.get_by_text("connected", exact=True)).to_be_visible()
    terminal.press_sequentially("echo $((6*7))-$LEVEL; stty size\n")
    expect(terminal).to_contain_text("42-full")
    terminal.press_sequentially("exit 3\n")
    expect(page.get_by_text("the shell ended with exit code 3")).to_be_visible()


def test_pods_that_wait_for_memory_are_the_first_thing_on_the_overview(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    hungry: dict[str, Any] = job("hungry", "true", parallelism=3, completions=3)
    container = hungry["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"memory": "9000Gi"}}
    site.create(hungry)
    expect(page.get_by_role("region", name="Problems")).to_contain_text("3 pods wait: Insufficient memory")


def test_a_job_that_is_gone_is_in_the_history(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(job("short-lived", "exit 9", backoffLimit=0))
    seen.go("/ui/jobs/default/short-lived")
    expect(page.locator(".page-head")).to_contain_text("failed")
    site.longshore.made("DELETE", "/apis/batch/v1/namespaces/default/jobs/short-lived")
    seen.go("/ui/history?q=short-lived")
    row = page.get_by_role("row").filter(has_text="short-lived")
    expect(row).to_contain_text("failed")
    expect(row).to_contain_text("exit code 9")


def test_a_timeline_is_opened_from_a_file(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    bars = [{"from": 100, "to": 160, "state": "done", "label": "ran"}]
    good, bad = tmp_path / "night.json", tmp_path / "bad.json"
    use = {"from": 100, "to": 160, "shares": [0.5, 1]}
    inside = [{"name": "backup", "bars": bars, "rows": [{"name": "pod", "bars": bars}], "open": True}]
    rows = [{"name": "node", "bars": [], "use": use, "cells": ["cpu 75%"]}, *inside]
    good.write_text(json.dumps({"title": "a night", "columns": ["RESULT"], "rows": rows}))
    bad.write_text(json.dumps({"rows": [{"name": "x", "bars": [{"from": 1, "to": 2, "state": "odd"}]}]}))
    seen.go("/ui/timeline")
    page.locator("input[type=file]").set_input_files(bad)
    expect(page.get_by_role("alert")).to_contain_text('rows[0].bars[0].state "odd" is none of')
    page.locator("input[type=file]").set_input_files(good)
    expect(page.get_by_role("heading", name="a night")).to_be_visible()
    expect(page.get_by_role("img", name="a night: 3 rows over 1m")).to_be_visible()
