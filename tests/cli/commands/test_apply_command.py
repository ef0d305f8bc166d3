"""`longshore apply`: created, configured, unchanged; files, directories, stdin; refusals that name them."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.longshore_command import Command

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: VALUE}\n"
pytestmark = pytest.mark.xdist_group("cli commands")


def config(name: str, value: str = "x") -> str:
    return MAP.replace("NAME", name).replace("VALUE", value)


def test_it_says_what_it_did(longshore: Command) -> None:
    for value, word in (("one", "created"), ("one", "unchanged"), ("two", "configured")):
        assert longshore.ok("apply", "-f", "-", stdin=config("say", value)) == f"configmap/say {word}\n"
    assert longshore.ok("get", "cm/say", "-o", "jsonpath={.data.a}") == "two"


def test_all_documents_of_all_files_count(longshore: Command) -> None:
    folder = longshore.home / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "b.yaml").write_text(config("b1") + "---\n# a comment alone\n---\n" + config("b2"))
    (folder / "a.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}')
    (folder / "notes.txt").write_text("not a manifest")
    (folder / "below" / "c.yml").write_text(config("c"))
    assert longshore.ok("apply", "-f", str(folder)).split() == [
        *("configmap/a", "created", "configmap/b1", "created", "configmap/b2", "created")
    ]
    assert longshore.ok("apply", "-R", "-f", str(folder), "-o", "name").split()[-1] == "configmap/c"


def test_a_refusal_names_the_file_and_does_not_stop_the_others(longshore: Command) -> None:
    bad = config("bad").replace("\ndata:", "\ndada:")
    done = longshore("apply", "-f", "-", stdin=bad + "---\n" + config("good"))
    assert done.exit == 1
    assert "STDIN" in done.stderr
    assert "dada" in done.stderr
    assert done.stdout == "configmap/good created\n"


def test_a_dry_run_writes_nothing(longshore: Command) -> None:
    done = longshore.ok("apply", "--dry-run=server", "-f", "-", stdin=config("dry"))
    assert done == "configmap/dry created (server dry run)\n"
    assert (
        longshore.ok("apply", "--dry-run", "-f", "-", stdin=config("dry"))
        == "configmap/dry created (dry run)\n"
    )
    assert longshore("get", "cm", "dry").exit == 1


def test_server_side_refuses_fields_of_others_and_plain_apply_takes_them(longshore: Command) -> None:
    longshore.ok("apply", "--field-manager", "other", "-f", "-", stdin=config("ours", "theirs"))
    refused = longshore("apply", "--server-side", "-f", "-", stdin=config("ours", "mine"))
    assert refused.exit == 1
    assert 'conflict with "other": .data.a' in refused.stderr
    assert "--force-conflicts" in refused.stderr
    assert longshore.ok("apply", "-f", "-", stdin=config("ours", "mine")) == "configmap/ours configured\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Job\nmetadata: {name: x}\n", "apiVersion not set"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 5}\n", "metadata.name is not a text: quote it"),
        ("apiVersion: v1\nkind: [", "error converting YAML to JSON"),
        ("apiVersion: example.org/v1\nkind: Job\nmetadata: {name: x}\n", 'no matches for kind "Job"'),
    ],
)
def test_what_is_no_manifest_is_refused(longshore: Command, text: str, message: str) -> None:
    done = longshore("apply", "-f", "-", stdin=text)
    assert done.exit != 0
    assert message in done.stderr


def test_a_file_that_is_not_there(longshore: Command, tmp_path: Path) -> None:
    done = longshore("apply", "-f", str(tmp_path / "none.yaml"))
    assert (done.exit, done.stderr) == (2, f'error: the path "{tmp_path}/none.yaml" does not exist\n')


def test_a_url_is_fetched_and_one_that_cannot_be_is_named(longshore: Command, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(config("fetched"))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert longshore.ok("apply", "-f", f"{url}/config.yaml") == "configmap/fetched created\n"
        # Python's server answers a folder without a slash at its end with a redirect.
        (tmp_path / "moved").mkdir()
        (tmp_path / "moved" / "index.html").write_text(config("moved"))
        assert longshore.ok("apply", "-f", f"{url}/moved") == "configmap/moved created\n"
        missing = longshore("apply", "-f", f"{url}/none.yaml")
        server.shutdown()
    assert missing.exit == 2
    assert missing.stderr == (
        f'error: unable to read URL "{url}/none.yaml", server response code 404 File not found\n'
    )
    assert "Connection refused" in longshore("apply", "-f", f"{url}/config.yaml").stderr
