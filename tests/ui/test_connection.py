"""The page and its server: a restart, and an account that may only read."""

from __future__ import annotations

from playwright.sync_api import expect

from ui.dashboard import Dashboard, Seen, job

READ = {"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"]}


def test_the_page_goes_on_by_itself_after_a_restart_of_longshore(site: Dashboard, seen: Seen) -> None:
    page = seen.page
    seen.expected += [
        "WebSocket",
        "ERR_CONNECTION_REFUSED",
        "ERR_SOCKET_NOT_CONNECTED",
        "ERR_CONNECTION_RESET",
    ]
    site.create(job("before-the-restart", "true"))
    seen.go("/ui/jobs?q=the-restart")
    row = page.get_by_role("row").filter(has_text="before-the-restart")
    expect(row).to_contain_text("complete")
    site.restart()
    site.create(job("after-the-restart", "true"))
    expect(page.get_by_role("row").filter(has_text="after-the-restart")).to_contain_text("complete")
    expect(page.locator(".link-state")).to_have_text("live")


def test_an_account_that_may_only_read_sees_no_button_that_changes_something(site: Dashboard) -> None:
    rbac = "rbac.authorization.k8s.io/v1"
    subject = {"kind": "User", "name": "reader"}
    site.create(
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": [READ]},
        {
            "apiVersion": rbac,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "subjects": [{**subject, "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        },
        job("only-read", "sleep 600"),
    )
    with site.page() as admin:
        admin.go("/ui/jobs/default/only-read")
        expect(admin.page.get_by_role("button", name="Delete")).to_be_visible()
    with site.page("reader") as reader:
        reader.go("/ui/jobs/default/only-read")
        expect(reader.page.locator(".page-head")).to_contain_text("running")
        expect(reader.page.get_by_text("reader", exact=True)).to_be_visible()
        for deed in ("Delete", "Suspend", "Retry"):
            expect(reader.page.get_by_role("button", name=deed)).to_have_count(0)
        reader.go("/ui/jobs")
        expect(reader.page.get_by_role("row").filter(has_text="only-read")).to_be_visible()
        expect(reader.page.get_by_role("checkbox")).to_have_count(0)
    reader.check()
