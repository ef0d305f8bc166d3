"""The page of a Job: progress, indexes, logs, actions."""

from __future__ import annotations

from playwright.sync_api import expect

from ui.dashboard import Dashboard, Seen, job


def test_a_job_of_sixty_pods_is_seen_to_finish_with_its_failed_index(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    work = (
        'echo "work on $JOB_COMPLETION_INDEX"; [ $JOB_COMPLETION_INDEX != 17 ] || { echo lost >&2; exit 3; }'
    )
    seen.go("/ui/jobs/default/sixty")
    expect(page.get_by_text("There is no Job sixty")).to_be_visible()
    sixty = job(
        "sixty", work, completions=60, parallelism=10, completionMode="Indexed", backoffLimitPerIndex=0
    )
    site.create(sixty)
    progress = page.get_by_label("Progress", exact=True).first
    expect(progress).to_contain_text("59of 60 done")
    expect(progress).to_contain_text("1indexes failed")
    grid = page.get_by_role("img", name="Indexes: 59 done, 1 failed")
    expect(grid).to_be_visible()
    expect(page.locator("ls-story")).to_contain_text("index 17 failed: exit code 3")
    grid.focus()
    for _ in range(18):
        page.keyboard.press("ArrowRight")
    tip = page.locator("ls-index-grid .tip")
    expect(tip).to_contain_text("index 17")
    expect(tip).to_contain_text("exit code 3")
    expect(tip).to_contain_text("1 attempt")
    page.keyboard.press("Enter")
    attempts = page.get_by_role("region", name="Index 17")
    expect(attempts).to_contain_text("exit code 3")
    attempts.get_by_role("link").click()
    page.wait_for_url("**/ui/pods/default/sixty-17-*")


def test_logs_are_followed_searched_and_coloured(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    say = r"echo line $i; printf '\033[31mred\033[0m\n'"
    talk = f"i=0; while [ $i -lt 300 ]; do {say}; i=$((i+1)); sleep 0.1; done"
    site.create(job("talks", talk, parallelism=2, completions=2))
    seen.go("/ui/jobs/default/talks?tab=logs")
    log = page.get_by_role("log", name="Log lines")
    expect(log).to_contain_text("line 3")
    expect(log.locator(".c1", has_text="red").first).to_be_visible()
    expect(log).to_contain_text("line 12")
    page.get_by_role("searchbox", name="Search in the logs").fill("line 7")
    expect(log.locator("mark", has_text="line 7").first).to_be_visible()
    expect(log).not_to_contain_text("line 3")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "talks.log"
    assert "line 3" in download.value.path().read_text()


def test_logs_of_init_containers_and_of_later_runs_are_followed(site: Dashboard, seen: Seen) -> None:
    again = job("again", "echo it begins; exit 1", backoffLimit=6)
    pod = again["spec"]["template"]["spec"]
    pod["restartPolicy"] = "OnFailure"
    pod["initContainers"] = [
        {"name": "before", "image": "local", "command": ["sh", "-c", "echo first of all"]}
    ]
    site.create(again)
    seen.go("/ui/jobs/default/again?tab=logs")
    log = seen.page.get_by_role("log", name="Log lines")
    expect(log).to_contain_text("first of all")
    expect(log.locator(".text", has_text="it begins")).to_have_count(2, timeout=60_000)


def test_a_job_is_suspended_and_resumed(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(job("pauses", "sleep 600"))
    seen.go("/ui/jobs/default/pauses")
    head = page.locator(".page-head")
    expect(head).to_contain_text("running")
    page.get_by_role("button", name="Suspend").click()
    page.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(head).to_contain_text("suspended")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(head).to_contain_text("running")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(head).to_contain_text("deleted")
