"""Lists: live, filtered as one types, sorted, with addresses that can be shared."""

from __future__ import annotations

from playwright.sync_api import expect

from ui.dashboard import Dashboard, Seen, job


def test_a_list_follows_what_happens_and_filters_as_one_types(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    seen.go("/ui/jobs")
    site.create(
        job("sort-apples", "true", labels={"fruit": "apple"}), job("sort-pears", "exit 4", backoffLimit=0)
    )
    apples = page.get_by_role("row").filter(has_text="sort-apples")
    expect(apples).to_contain_text("complete")
    pears = page.get_by_role("row").filter(has_text="sort-pears")
    expect(pears).to_contain_text("failed")
    page.get_by_role("searchbox", name="Filter Jobs").fill("sort-pe")
    expect(apples).to_have_count(0)
    expect(pears).to_be_visible()
    assert "q=sort-pe" in page.url
    page.get_by_role("searchbox", name="Filter Jobs").fill("fruit=apple")
    expect(apples).to_be_visible()
    expect(pears).to_have_count(0)
    with site.page() as other:
        other.go("/ui/jobs?q=sort&state=failed")
        expect(other.page.get_by_role("row").filter(has_text="sort-pears")).to_be_visible()
        expect(other.page.get_by_role("row").filter(has_text="sort-apples")).to_have_count(0)


def test_back_and_forward_and_deep_links_work(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(job("deep", "true"))
    seen.go("/ui/jobs?q=deep")
    page.get_by_role("link", name="deep", exact=True).click()
    expect(page.get_by_role("heading", name="deep", level=1)).to_be_visible()
    page.get_by_role("tab", name="YAML").click()
    expect(page.get_by_role("tabpanel", name="YAML")).to_contain_text("kind: Job")
    address = page.url
    page.go_back()
    page.go_back()
    expect(page.get_by_role("searchbox", name="Filter Jobs")).to_have_value("deep")
    page.go_forward()
    expect(page.get_by_role("heading", name="deep", level=1)).to_be_visible()
    page.goto(address)
    expect(page.get_by_role("tabpanel", name="YAML")).to_contain_text("name: deep")


def test_several_are_deleted_at_once_after_a_question_that_names_them(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(job("gone-1", "true"), job("gone-2", "true"), job("stays-1", "true"))
    seen.go("/ui/jobs?q=-1")
    page.get_by_role("checkbox", name="Choose gone-1").check()
    page.get_by_role("searchbox", name="Filter Jobs").fill("gone-2")
    page.get_by_role("checkbox", name="Choose gone-2").check()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("default/gone-1")
    expect(dialog).to_contain_text("default/gone-2")
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_role("searchbox", name="Filter Jobs").fill("-1")
    expect(page.get_by_role("row").filter(has_text="gone-1")).to_have_count(0)
    expect(page.get_by_role("row").filter(has_text="stays-1")).to_be_visible()


def test_the_palette_reaches_anything_by_name(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    site.create(job("needle-in-a-haystack", "true"))
    expect(page.get_by_role("link", name="Overview", exact=True)).to_be_visible()
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill("needle")
    expect(page.get_by_role("dialog").get_by_role("option").first).to_contain_text("needle-in-a-haystack")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/jobs/default/needle-in-a-haystack")
