"""Placeholders in the text of a shell's `-c`: an item is data there, whatever it holds."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from longshore.api.facts import run_items
from longshore.cli.running.each_items import Items
from longshore.cli.running.placeholders import ItemCommand as Words
from longshore.node.preparing.environment import expansion
from support.longshore_command import Command

HOSTILE = [
    "$(touch executed)",
    "`touch executed`",
    "a[$(touch executed)]",
    "'; touch executed; '",
    '"; touch executed; "',
    "'\"'\"'$(touch executed)",
    "\ntouch executed\n",
    ") touch executed",
    "} ; touch executed #",
    "EOF\ntouch executed\nEOF",
    "${x:=$(touch executed)}",
    "*",
    "~",
    "-n",
    "--help",
    " two  spaces ",
    "tab\there",
    "back\\slash\\",
    "%s%d",
    "#comment",
    "!history",
    "it's",
    "",
    "Käse",
    b"caf\xe9".decode(errors="surrogateescape"),
]
SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "ksh", "mksh") if shutil.which(shell) is not None]
FAITHFUL = {
    "printf '%s|' {}": "@|",
    'printf "%s|" "{}"': "@|",
    "printf '%s|' '{}'": "@|",
    "printf '%s|' a{}b'{}'\"{}\"": "a@b@@|",
    'printf "%s|" "$(printf "%s|" {})"': "@||",
    'printf "%s|" "$(printf "%s|" "{}")"': "@||",
    "printf '%s|' \"it's {}\"": "it's @|",
    "printf '%s|' 'a \"b\" {}'": 'a "b" @|',
    "printf '%s|' {} # the item's name, {}\nprintf '%s|' \\\" {}": '@|"|@|',
    'x={}; printf "%s|" "$x" "${x}"': "@|@|",
    "for x in {} '{}'; do printf '%s|' \"$x\"; done": "@|@|",
    "case {} in a) ;; *) printf '%s|' {};; esac": "@|",
    "if [ {} = x ]; then :; else printf '%s|' {} 2>&1; fi": "@|",
    "(printf '%s|' {}; printf '%s|' {} | cat) && printf '%s|' \"$$\" >/dev/null": "@|@|",
    "f() { printf '%s|' \"$1\"; }; f {}": "@|",
    "printf '%s|' $(true) \"${HOME:+{#}}\" {}": "1|@|",
}
"""Texts that print items as they are, and their output, with `@` for the item."""
EVALUATING = [
    "eval echo {}",
    'sh -c "echo {}"',
    "env A=1 /bin/sh -ec 'echo {}'",
    "echo $(( {} ))",
    'echo "$(( {} ))"',
    "echo `echo {}`",
    'echo "`echo {}`"',
    "echo ${x:-{}}",
    "[[ {} -eq 1 ]]",
    "[ {} -eq 1 ]",
    "(( {} > 1 ))",
    "a[{}]=1",
    "unset {}",
    "printf -v {} x",
    "let x={}",
    "A=1 then eval {}",
    "trap {} EXIT",
    "\\eval {}",
    "'eval' {}",
    "cat <<EOF\n{}\nEOF",
    "cat <<'EOF'\n{}\nEOF",
    "echo $'{}'",
    'echo "$(case x in x) eval {};; esac)"',
    "ssh host echo {}",
]
"""Texts that would execute some of them, or print them wrong: there they are refused."""


def executed(words: list[str], item: str, directory: Path) -> subprocess.CompletedProcess[bytes]:
    """The command with this item, as the node starts it."""
    variables = run_items.variables([item], 0)
    argv = [
        expansion.expand(word, lambda name: variables.get(name, f"$({name})"))
        for word in Words(words, Items([(item,)])).in_manifest()
    ]
    environment = {**os.environ, **variables}
    return subprocess.run(
        [*map(os.fsencode, argv)], cwd=directory, env=environment, capture_output=True, timeout=20
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_an_item_is_data_in_every_shell_and_between_all_quotes(shell: str, tmp_path: Path) -> None:
    for item in HOSTILE:
        done = executed([shell, "-c", "\n".join(FAITHFUL)], item, tmp_path)
        expected = "".join(FAITHFUL.values()).replace("@", item)
        assert (done.stdout, done.stderr) == (os.fsencode(expected), b""), item
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("text", EVALUATING)
def test_where_a_shell_evaluates_its_data_only_harmless_items_are_let_through(text: str) -> None:
    for item in HOSTILE:
        harmless = item in ("", "-n", "--help", "%s%d", "Käse")
        problem = Words(["bash", "-c", text], Items([("plain",), (item,)])).problem()
        assert bool(problem) != harmless, (item, problem)
        assert harmless or f"a shell would evaluate the item {item!r} where {{}} stands" in problem
    assert Words(["bash", "-c", text], Items([("12",), ("a/b-c.png",)])).problem() == ""


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "T"],
        ["/bin/sh", "-c", "T"],
        ["bash", "-ec", "T"],
        ["bash", "-euo", "pipefail", "-c", "T", "name", "{}"],
        ["bash", "-c", "-o", "pipefail", "T"],
        ["bash", "--norc", "-c", "--", "T"],
        ["env", "A=1", "sh", "-c", "T"],
        ["nice", "-n", "5", "timeout", "10s", "/usr/bin/env", "bash", "-lc", "T"],
        ["busybox", "ash", "-c", "T"],
    ],
)
def test_the_text_of_a_shell_is_found_behind_flags_paths_and_wrappers(words: list[str]) -> None:
    typed = ["echo {}" if word == "T" else word for word in words]
    made = Words(typed, Items([("$(id)",)])).in_manifest()
    assert made[words.index("T")] == 'echo "$${LONGSHORE_ITEM?}"'
    assert made[-1] == "$(LONGSHORE_ITEM)" or words[-1] == "T"


@pytest.mark.parametrize(
    "words",
    [
        ["env", "-i", "sh", "-c", "echo {}"],
        ["sudo", "sh", "-c", "echo {}"],
        ["docker", "run", "image", "sh", "-c", "echo {}"],
        ["fish", "-c", "echo {}"],
        ["ssh", "host", "echo {}"],
        ["su", "-c", "echo {}"],
    ],
)
def test_a_shell_that_the_variables_may_not_reach_gets_only_harmless_items(words: list[str]) -> None:
    assert Words(words, Items([("a.png",)])).problem() == ""
    assert Words(words, Items([("a.png",)])).in_manifest()[-1] == "echo $(LONGSHORE_ITEM)"
    assert "would evaluate the item '$(id)'" in Words(words, Items([("a.png",), ("$(id)",)])).problem()


@pytest.mark.parametrize(
    "words",
    [
        ["python3", "-c", "{}"],
        ["sh", "{}"],
        ["grep", "-c", "{}"],
        ["sh", "-x", "{}"],
        ["bash-completion", "-c", "{}"],
    ],
)
def test_other_arguments_are_replaced_as_they_are(words: list[str]) -> None:
    assert Words(words, Items([("$(id)",)])).in_manifest()[-1] == "$(LONGSHORE_ITEM)"


def test_braces_of_the_shell_itself_are_no_placeholder() -> None:
    words = Words(
        ["sh", "-c", "echo ${1} ${name} {name}", "sh", "{1}"], Items([("a", "b")], ("name", "size"))
    )
    assert words.problem() == ""
    assert words.in_manifest()[2:] == [
        'echo $${1} $${name} "$${LONGSHORE_ITEM_1?}"',
        "sh",
        "$(LONGSHORE_ITEM_1)",
    ]


def test_a_text_that_is_only_the_item_is_refused_with_the_option_for_it() -> None:
    refused = "{} is the whole text of a shell: to run each item as a command, pass --raw-items"
    assert Words(["sh", "-c", "{}"], Items([("id",)])).problem() == refused
    assert Words(["sh", "-c"], Items([("id",)])).problem() == refused
    assert Words(["sh", "-c", "{}"], Items([("id -u",)]), raw=True).problem() == ""


def test_items_come_out_of_a_run_as_out_of_gnu_parallel(longshore: Command) -> None:
    items = "".join(f"{item}\0" for item in HOSTILE if item.isascii() and item)
    words = ("run", "--parallelism", "2", "-0", "--each", "-", "-k", "--")
    done = longshore(*words, "sh", "-c", "printf '<%s>\\n' {} \"{}\" '{}'", stdin=items)
    assert done.exit == 0, done.stderr
    lines = "".join(f"<{item}>\n" * 3 for item in items.split("\0")[:-1])
    assert done.stdout == lines
    assert not (longshore.home / "executed").exists()
    if shutil.which("parallel") is None:
        return
    there = subprocess.run(
        ["parallel", "-0", "-k", "printf '<%s>\\n' {} {} {}"],
        input=items,
        env={**longshore.environment(), "SHELL": "/bin/sh", "PARALLEL_HOME": str(longshore.home)},
        cwd=longshore.home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert there.stdout == lines, there.stderr


def test_raw_items_are_executed(longshore: Command) -> None:
    words = ("run", "--raw-items", "--each", "-", "-k", "--", "sh", "-c")
    assert longshore(*words, "echo {}", stdin="$((6 * 7))\n").stdout == "42\n"
    assert longshore(*words, "{}", stdin="echo a  b\necho c | cat\n").stdout == "a b\nc\n"


def test_the_job_log_tells_a_text_with_items_as_one_would_type_it(longshore: Command) -> None:
    done = longshore("run", "--each", "-", "--joblog", "log", "--", "sh", "-c", "echo {}", stdin="$(id)\nb\n")
    assert done.exit == 0, done.stderr
    lines = (longshore.home / "log").read_text().splitlines()[1:]
    commands = sorted(line.split("\t")[8] for line in lines)
    assert commands == ["sh -c 'echo '\"'\"'$(id)'\"'\"''", "sh -c 'echo b'"]
    assert subprocess.run(commands[0], shell=True, capture_output=True, text=True).stdout == "$(id)\n"
