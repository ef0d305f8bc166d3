"""The dashboard over HTTP: login by a link that works once, and whose requests its cookie is for."""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from longshore.cli.main import main
from support.longshore_process import RunningLongshore, longshore_up

JOBS = "/apis/batch/v1/namespaces/default/jobs"
LOGINS = "/apis/longshore.dev/v1/uilogins"
HERE = {"X-Longshore-UI": "1", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up("--in-memory", "--no-node") as running:
        yield running


class Answer:
    def __init__(self, found: http.client.HTTPResponse) -> None:
        self.code, self.headers, self.body = found.status, found.headers, found.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send(
    longshore: RunningLongshore,
    method: str,
    path: str,
    headers: dict[str, str] | None = None,
    body: Any = None,
) -> Answer:
    """A request with these headers and no token."""
    line = http.client.HTTPSConnection(longshore.server.removeprefix("https://"), context=longshore.tls)
    with closing(line):
        line.request(method, path, None if body is None else json.dumps(body), headers or {})
        return Answer(line.getresponse())


def link(longshore: RunningLongshore, **headers: str) -> str:
    sent = {"Authorization": f"Bearer {longshore.token}", **headers}
    answer = send(longshore, "POST", LOGINS, sent, {})
    assert answer.code == 201, answer.body
    path: str = answer.json["status"]["path"]
    return path


def login(longshore: RunningLongshore, **headers: str) -> dict[str, str]:
    """The header with the cookie of a new session."""
    code = link(longshore, **headers).partition("#")[2]
    answer = send(longshore, "POST", "/ui/login", HERE, {"code": code})
    assert answer.code == 200, answer.body
    return {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}


def test_a_link_works_once_and_gives_a_cookie_that_scripts_and_other_sites_cannot_use(
    longshore: RunningLongshore,
) -> None:
    path = link(longshore)
    page, _, code = path.partition("#")
    assert page == "/ui/login"
    first = send(longshore, "POST", page, HERE, {"code": code})
    assert first.code == 200
    name, *rest = first.headers["Set-Cookie"].split("; ")
    assert name.startswith(f"__Host-longshore-ui-{longshore.server.rpartition(':')[2]}=")
    assert rest == ["Path=/", "Max-Age=28800", "HttpOnly", "Secure", "SameSite=Strict"]
    second = send(longshore, "POST", page, HERE, {"code": code})
    assert (second.code, second.headers["Set-Cookie"]) == (401, None)
    assert "has been used" in second.json["message"]


def test_nobody_gets_a_link_or_a_page_without_a_login(longshore: RunningLongshore) -> None:
    assert send(longshore, "POST", LOGINS, HERE, {}).code == 403
    assert send(longshore, "GET", "/ui/").code == 401
    assert send(longshore, "GET", "/ui/jobs/default/x").code == 401
    assert send(longshore, "GET", JOBS).code == 403
    wrong = {"Cookie": f"__Host-longshore-ui-{longshore.server.rpartition(':')[2]}=wrong"}
    assert send(longshore, "GET", JOBS, wrong).code == 401
    assert send(longshore, "GET", "/ui/", wrong).code == 401


def test_a_session_has_the_rights_of_who_asked_for_the_link_and_ends_with_logout(
    longshore: RunningLongshore,
) -> None:
    admin = login(longshore)
    assert send(longshore, "GET", JOBS, admin).code == 200
    nobody = login(longshore, **{"Impersonate-User": "jane"})
    refused = send(longshore, "GET", JOBS, nobody)
    assert (refused.code, 'User "jane" cannot list' in refused.json["message"]) == (403, True)
    assert send(longshore, "POST", "/ui/logout", {**HERE, **admin}, {}).code == 200
    assert send(longshore, "GET", JOBS, admin).code == 401
    assert send(longshore, "GET", JOBS, nobody).code == 403


def test_the_session_of_an_account_ends_with_the_account(longshore: RunningLongshore) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    longshore.made("POST", accounts, {"metadata": {"name": "viewer"}})
    token = longshore.made("POST", f"{accounts}/viewer/token", {})["status"]["token"]
    viewer = login(longshore, Authorization=f"Bearer {token}")
    assert send(longshore, "GET", JOBS, viewer).code == 200
    longshore.made("DELETE", f"{accounts}/viewer")
    assert send(longshore, "GET", JOBS, viewer).code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Longshore-UI": "1", "Origin": "https://127.0.0.1:8000"},
        {"X-Longshore-UI": "1", "Sec-Fetch-Site": "same-site"},
    ],
    ids=["without the header", "from another port", "from another origin of the site"],
)
def test_a_change_by_cookie_must_come_from_a_page_of_this_server(
    longshore: RunningLongshore, headers: dict[str, str]
) -> None:
    cookie = login(longshore)
    sent = {"Content-Type": "application/json", **cookie, **headers}
    answer = send(
        longshore, "POST", "/api/v1/namespaces/default/configmaps", sent, {"metadata": {"name": "x"}}
    )
    assert (answer.code, "the dashboard's login" in answer.json["message"]) == (403, True)


def test_a_page_of_this_server_may_change_things(longshore: RunningLongshore) -> None:
    sent = {**HERE, **login(longshore), "Origin": longshore.server, "Sec-Fetch-Site": "same-origin"}
    answer = send(
        longshore, "POST", "/api/v1/namespaces/default/configmaps", sent, {"metadata": {"name": "y"}}
    )
    assert answer.code == 201


def test_a_read_by_cookie_from_another_origin_is_refused(longshore: RunningLongshore) -> None:
    cookie = login(longshore)
    assert send(longshore, "GET", JOBS, {**cookie, "Sec-Fetch-Site": "cross-site"}).code == 403
    assert send(longshore, "GET", JOBS, {**cookie, "Origin": "https://evil.example"}).code == 403


def test_a_websocket_by_cookie_needs_the_origin_of_this_server(longshore: RunningLongshore) -> None:
    wish = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        **login(longshore),
    }
    path = f"{JOBS}?watch=1"
    assert send(longshore, "GET", path, wish).code == 403
    assert send(longshore, "GET", path, {**wish, "Origin": "https://evil.example"}).code == 403
    line = http.client.HTTPSConnection(longshore.server.removeprefix("https://"), context=longshore.tls)
    with closing(line):
        line.request("GET", path, headers={**wish, "Origin": longshore.server})
        assert line.getresponse().status == 101


def test_a_session_makes_no_other_session_and_shows_no_page_of_a_pod(longshore: RunningLongshore) -> None:
    sent = {**HERE, **login(longshore)}
    for path in (LOGINS, f"{LOGINS}/", f"/{LOGINS}", f"{LOGINS}?pretty=1"):
        assert send(longshore, "POST", path, sent, {}).code == 403, path
    for path in ("pods/x/proxy", "pods/x/proxy/", "pods/x/proxy/index.html", "pods/proxy/proxy"):
        refused = send(longshore, "GET", f"/api/v1/namespaces/default/{path}", sent)
        assert (refused.code, "the pages of a pod" in refused.json["message"]) == (403, True), path


def test_a_session_sees_objects_and_namespaces_whose_names_begin_with_proxy(
    longshore: RunningLongshore,
) -> None:
    sent = {**HERE, **login(longshore)}
    maps = "/api/v1/namespaces/default/configmaps"
    assert send(longshore, "POST", maps, sent, {"metadata": {"name": "proxy-settings"}}).code == 201
    assert send(longshore, "GET", f"{maps}/proxy-settings", sent).code == 200
    assert send(longshore, "GET", "/api/v1/namespaces/proxy/configmaps", sent).code == 200


def test_files_are_packed_kept_by_browsers_and_guarded(longshore: RunningLongshore) -> None:
    page = send(longshore, "GET", "/ui/", {**login(longshore), "Accept-Encoding": "gzip"})
    assert (page.code, page.headers["Content-Encoding"]) == (200, "gzip")
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "'unsafe-inline'" not in page.headers["Content-Security-Policy"]
    assert f"script-src {longshore.server}/ui/assets/;" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    plain = send(longshore, "GET", "/ui/", login(longshore)).body.decode()
    script = next(word for word in plain.split('"') if word.endswith("/main.js"))
    found = send(longshore, "GET", script)
    assert (found.code, found.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert "immutable" in found.headers["Cache-Control"]
    assert send(longshore, "GET", script, {"If-None-Match": found.headers["ETag"]}).code == 304
    assert send(longshore, "GET", script.replace("/main.js", "/none.js")).code == 404
    assert send(longshore, "GET", "/ui/assets/../../secrets").code == 404


def test_the_command_prints_a_link_and_the_fingerprint_that_the_browser_shows(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ui", "--no-open", "--kubeconfig", str(longshore.kubeconfig), "--as", "jane"]) == 0
    address, certificate = capsys.readouterr().out.splitlines()
    code = address.removeprefix(f"{longshore.server}/ui/login#")
    assert send(longshore, "POST", "/ui/login", HERE, {"code": code}).code == 200
    host, _, port = longshore.server.removeprefix("https://").partition(":")
    shown = ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((host, int(port))))
    assert certificate == f"certificate (SHA-256): {hashlib.sha256(shown).digest().hex(':').upper()}"
