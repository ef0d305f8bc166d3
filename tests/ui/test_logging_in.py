"""Logging in by a link that works once, and out again."""

from __future__ import annotations

from playwright.sync_api import expect

from ui.dashboard import Dashboard, Seen


def test_the_link_logs_in_once_and_leaves_no_code_in_the_address(site: Dashboard) -> None:
    link = site.link_of_command()
    with site.context() as context:
        page = context.new_page()
        page.goto(link)
        page.wait_for_url(f"{site.url}/ui/")
        expect(page.get_by_role("link", name="Overview", exact=True)).to_be_visible()
        (cookie,) = context.cookies()
        assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
        assert page.evaluate("document.cookie") == ""
    with site.context() as context:
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_text("has been used")).to_be_visible()
        assert "#" not in page.url
        answer = page.goto(f"{site.url}/ui/jobs")
        assert answer is not None
        assert answer.status == 401
        expect(page.get_by_text("You are not logged in")).to_be_visible()


def test_after_logging_out_the_page_is_closed(site: Dashboard, seen: Seen) -> None:
    seen.page.get_by_role("button", name="Log out").click()
    expect(seen.page.get_by_text("You are not logged in")).to_be_visible()
    # The second is what Chromium says of a socket that was just being opened.
    seen.expected += ["401", "HTTP Authentication failed"]


def test_no_page_can_be_framed_by_another(seen: Seen) -> None:
    headers = seen.page.request.get(f"{seen.site.url}/ui/").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
