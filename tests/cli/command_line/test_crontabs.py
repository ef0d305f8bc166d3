"""`longshore cron add`, `list`, `edit`, `import`, `export`: work on schedule without YAML."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.api import cron
from longshore.cli.crontabs import cronjob_manifests, crontab
from longshore.cli.crontabs.listing import in_words
from longshore.cli.main import main
from support.longshore_process import RunningLongshore, longshore_up

CRONTAB = r"""
# what a real one looks like
SHELL=/bin/bash
PATH = "/usr/local/bin:/usr/bin:/bin"
MAILTO=ops@example.com
GREETING='hello world'

17 *	* * *   root-tasks --hourly
25 6 * * *      test -x /usr/sbin/anacron || run-parts --report /etc/cron.daily
47 6 * * 7      run-parts --report /etc/cron.weekly
52 6 1 * *      run-parts --report /etc/cron.monthly
*/15 9-17 * * mon-fri  /opt/app/bin/poll.sh >/dev/null 2>&1
@daily          /opt/app/bin/rotate "$GREETING"
@hourly         cd /srv/data && ./collect --all
@reboot         /opt/app/bin/agent
0 3 * * 5-7     nice -n 19 backup.sh | gzip > /var/backups/$(date +\%F).gz
30 4 1,15 * *   mail -s "Report for \%d" boss%Dear boss,%all is well.%
0 0 31 2 *      never
5 4 * * sun     fstrim --all
0 22 * * 1-5    flock -n /tmp/lock sync-mirror
CRON_TZ=America/New_York
30 9 * * 1-5    open-markets
RANDOM_DELAY=10
0 1 * * *       spread
0~30 1 * * *    random
not a line
@annually       yearly-report
61 * * * *      wrong
"""


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0 * * * *", "every hour"),
        ("5,35 * * * *", "every hour at minutes 5 and 35"),
        ("30 2 * * *", "every day at 02:30"),
        ("30 2,14 * * *", "every day at 02:30 and 14:30"),
        ("0 9 * * 1-5", "Monday to Friday at 09:00"),
        ("0 9 * * 0,6", "Saturday and Sunday at 09:00"),
        ("*/15 9-17 * * mon-fri", "every 15 minutes from 09:00 to 17:45, Monday to Friday"),
        ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
        ("0 */2 * * *", "every 2 hours"),
        ("10 */2 * * *", "every 2 hours at minute 10"),
        ("0,30 9,12,15 * * *", "every 30 minutes in the hours 9, 12 and 15"),
        ("7 0,1,2,4,5 * * *", "every day at minute 7 of the hours 0, 1, 2, 4 and 5"),
        ("0 0 1 * *", "on day 1 of every month at 00:00"),
        ("0 0 1-7 6-8 *", "on days 1 to 7 of June, July and August at 00:00"),
        ("0 0 1,15 * 5", "on days 1 and 15 of every month and on every Friday at 00:00"),
        ("0 3 * 7 1", "every Monday in July at 03:00"),
        ("@weekly", "every Sunday at 00:00"),
        ("@every 90m", "every 90 minutes"),
        ("@every 1h", "every hour"),
        ("TZ=America/New_York 0 3 * * *", "every day at 03:00, New York"),
    ],
)
def test_a_schedule_is_said_in_words(schedule: str, words: str) -> None:
    assert in_words(cron.parse(schedule)) == words


def test_a_real_crontab_is_understood_line_by_line() -> None:
    found = crontab.read(CRONTAB.splitlines(keepends=True), "/home/ann")
    assert [(entry.name, entry.schedule) for entry in found.entries] == [
        ("root-tasks", "17 * * * *"),
        ("anacron", "25 6 * * *"),
        ("run-parts", "47 6 * * 0"),
        ("run-parts-2", "52 6 1 * *"),
        ("poll", "*/15 9-17 * * mon-fri"),
        ("rotate", "@daily"),
        ("collect", "@hourly"),
        ("backup", "0 3 * * 5,6,0"),
        ("mail", "30 4 1,15 * *"),
        ("fstrim", "5 4 * * sun"),
        ("sync-mirror", "0 22 * * 1-5"),
        ("open-markets", "30 9 * * 1-5"),
        ("spread", "0 1 * * *"),
        ("yearly-report", "@annually"),
    ]
    of_name = {entry.name: entry for entry in found.entries}
    assert of_name["backup"].command == "nice -n 19 backup.sh | gzip > /var/backups/$(date +%F).gz"
    assert of_name["mail"].command == 'mail -s "Report for %d" boss'
    assert of_name["mail"].input == "Dear boss,\nall is well.\n"
    assert of_name["rotate"].env == {
        "HOME": "/home/ann",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GREETING": "hello world",
    }
    assert (of_name["fstrim"].zone, of_name["open-markets"].zone) == ("", "America/New_York")
    assert (of_name["open-markets"].spread_minutes, of_name["spread"].spread_minutes) == (0, 10)
    why = {refused.text.split()[-1]: refused.why for refused in found.refused}
    assert why.pop("/opt/app/bin/agent").startswith("@reboot is no time")
    assert why.pop("never") == "0 0 31 2 * never fires"
    assert why.pop("random").startswith("random times such as 0~59 are not known")
    assert why.pop("line").startswith("it has neither a schedule of five fields with a command")
    assert "end of range (61) above maximum (59)" in why.pop("wrong")
    assert not why
    assert found.notes == [
        "line 5: no mail goes to ops@example.com; longshore cron logs NAME prints what a run wrote, and "
        "longshore history --failed lists what failed"
    ]


def test_an_imported_command_runs_as_cron_would_run_it(tmp_path: Path) -> None:
    """The command of the container, run by hand: same shell, variables, directory and standard input."""
    lines = [
        "SHELL=/bin/bash\n",
        "WHO=a 'quoted' name\n",
        '* * * * * read line; echo $0 "$WHO" $line $(pwd) \\%; exit 7%from $HOME%rest\n',
    ]
    (entry,) = crontab.read(lines, str(tmp_path)).entries
    (container,) = cronjob_manifests.from_entry(entry)["spec"]["jobTemplate"]["spec"]["template"]["spec"][
        "containers"
    ]
    env = {one["name"]: one["value"].replace("$$", "$") for one in container["env"]}
    words = [word.replace("$$", "$") for word in container["command"]]
    done = subprocess.run(words, env=env, cwd=container["workingDir"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"/bin/bash a 'quoted' name from $HOME {tmp_path} %\n"


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up("--in-memory") as running:
        yield running


@pytest.fixture
def command(
    longshore: RunningLongshore,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(longshore.kubeconfig))
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main(["cron", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


Cron = Callable[..., tuple[int, str, str]]


def _get(longshore: RunningLongshore, name: str) -> Any:
    return longshore.made("GET", f"/apis/batch/v1/namespaces/default/cronjobs/{name}")


def test_a_line_makes_a_cronjob_that_runs_the_command(
    command: Cron, longshore: RunningLongshore, tmp_path: Path
) -> None:
    words = ("30 2 * * *", "--zone", "America/New_York", "--no-overlap", "--retries", "2", "--timeout", "1h")
    more = ("--deadline", "10m", "--env", "LEVEL=full", "--name", "report")
    script = ("sh", "-c", 'echo "$LEVEL" $(pwd) "$@"', "report", "--all")
    assert command("add", *words, *more, "--", *script) == (
        0,
        "cronjob.batch/report created: every day at 02:30, New York\n",
        "",
    )
    spec = _get(longshore, "report")["spec"]
    job = spec["jobTemplate"]["spec"]
    assert (spec["schedule"], spec["timeZone"]) == ("30 2 * * *", "America/New_York")
    assert (spec["concurrencyPolicy"], spec["startingDeadlineSeconds"]) == ("Forbid", 600)
    assert (job["backoffLimit"], job["activeDeadlineSeconds"]) == (2, 3600)
    assert command("run", "report", "--job", "by-hand")[:2] == (0, "job.batch/by-hand created\n")
    assert main(["wait", "--for=condition=Complete", "--timeout=60s", "job/by-hand"]) == 0
    command("next", "report", "-n", "1")
    assert command("logs", "report")[:2] == (0, f"full {tmp_path} --all\n")
    code, out, _ = command("list")
    assert code == 0
    head, line = out.splitlines()[:2]
    assert head.split() == ["NAME", "SCHEDULE", "LAST", "RUN", "NEXT", "RUN", "RUNS"]
    assert line.startswith("report   every day at 02:30, New York   complete ")
    assert line.endswith(".")
    assert " 02:30 -0" in line
    code, out, _ = command("history", "report", "-o", "json")
    assert [(row["name"], row["result"]) for row in json.loads(out)["items"]] == [("by-hand", "complete")]


def test_flags_change_it_and_leave_the_rest(command: Cron, longshore: RunningLongshore) -> None:
    assert command("add", "@daily", "--name", "edited", "--env", "A=1", "--", "true")[0] == 0
    code, out, _ = command("edit", "edited", "--schedule", "0 4 * * 1", "--retries", "3", "--env", "B=2")
    assert (code, out) == (0, "cronjob.batch/edited changed: every Monday at 04:00\n")
    spec = _get(longshore, "edited")["spec"]
    (container,) = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    env = {one["name"]: one["value"] for one in container["env"]}
    assert (env["A"], env["B"], container["command"]) == ("1", "2", ["true"])
    assert (spec["jobTemplate"]["spec"]["backoffLimit"], spec["concurrencyPolicy"]) == (3, "Allow")
    assert command("edit", "edited", "--replace", "--", "echo", "new")[0] == 0
    spec = _get(longshore, "edited")["spec"]
    (container,) = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert (container["command"], spec["concurrencyPolicy"]) == (["echo", "new"], "Replace")
    assert command("pause", "edited")[:2] == (0, "cronjob.batch/edited suspended\n")
    (row,) = [line for line in command("list")[1].splitlines() if line.startswith("edited")]
    assert "paused" in row
    assert command("resume", "edited")[:2] == (0, "cronjob.batch/edited resumed\n")
    assert command("remove", "edited")[0] == 0
    assert command("edit", "edited", "--retries", "1")[0] == 1


def test_without_flags_it_is_opened_in_the_editor(
    command: Cron, longshore: RunningLongshore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("add", "@daily", "--name", "opened", "--", "true")[0] == 0
    monkeypatch.setenv("KUBE_EDITOR", "sed -i s/@daily/@hourly/")
    assert command("edit", "opened")[:2] == (0, "cronjob.batch/opened edited\n")
    assert _get(longshore, "opened")["spec"]["schedule"] == "@hourly"


def test_a_dry_run_prints_the_manifest(command: Cron, longshore: RunningLongshore) -> None:
    code, out, _ = command("add", "@hourly", "--dry-run", "--", "/opt/tidy.sh", "--deep")
    document = yaml.safe_load(out)
    assert (code, document["metadata"]["name"], document["spec"]["schedule"]) == (0, "tidy", "@hourly")
    status, _ = longshore.request("GET", "/apis/batch/v1/namespaces/default/cronjobs/tidy")
    assert status == 404


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "61 * * * *", "--", "true"), "end of range (61) above maximum (59): 61"),
        (("add", "0 0 31 2 *", "--", "true"), "schedule '0 0 31 2 *' never fires"),
        (("add", "@daily", "--zone", "Mars/Base", "--", "true"), "--zone: unknown time zone Mars/Base"),
        (("add", "@daily"), "a command is missing after two dashes"),
        (("add", "@daily", "--overlap", "--replace", "--", "true"), "--overlap and --replace exclude"),
        (("list", "--", "true"), "longshore cron list takes no command"),
        (("next", "report", "--zone", "UTC"), "--zone and --after are for a schedule"),
        (("next",), "give a SCHEDULE, the NAME of a CronJob, or --jsonl"),
    ],
)
def test_what_cannot_be_is_refused(command: Cron, words: tuple[str, ...], said: str) -> None:
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_crontab_is_taken_over_and_given_back(command: Cron, longshore: RunningLongshore) -> None:
    code, out, err = command("import", "-", stdin=CRONTAB)
    assert code == 2
    assert "line 15 is refused: @reboot is no time" in err
    assert err.endswith("nothing was created; mend these lines, or leave them out with --skip-refused\n")
    assert "9      poll          every 15 minutes from 09:00 to 17:45, Monday to Friday" not in out
    before = longshore.made("GET", "/apis/batch/v1/namespaces/default/cronjobs")["items"]
    assert "poll" not in [one["metadata"]["name"] for one in before]

    code, out, _ = command("import", "-", "--skip-refused", stdin=CRONTAB)
    assert code == 0
    assert "cronjob.batch/poll created\n" in out
    (row,) = [line for line in out.splitlines() if " poll " in line]
    assert "every 15 minutes from 09:00 to 17:45, Monday to Friday" in row
    assert _get(longshore, "spread")["metadata"]["annotations"] == {"longshore.dev/jitter": "10m"}
    assert _get(longshore, "open-markets")["spec"]["timeZone"] == "America/New_York"
    _, out, _ = command("import", "-", "--skip-refused", stdin=CRONTAB)
    assert "cronjob.batch/poll unchanged\n" in out

    names = ("backup", "mail", "rotate", "open-markets")
    code, out, _ = command("export", *names)
    assert code == 0
    again = {entry.name: entry for entry in crontab.read(out.splitlines(), "/home/ann").entries}
    given = {entry.name: entry for entry in crontab.read(CRONTAB.splitlines(), "/home/ann").entries}
    for name in ("backup", "mail"):
        assert again[name].schedule == given[name].schedule
        assert again[name].input == given[name].input
    assert again["open-markets"].zone == "America/New_York"
    assert "$(date +\\%F)" in out
    checked = shutil.which("crontab")
    if checked:
        assert subprocess.run([checked, "-T", "-"], input=out, text=True).returncode == 0


def test_what_a_crontab_cannot_say_stands_in_comments(command: Cron) -> None:
    words = ("add", "@daily", "--name", "kept", "--retries", "2", "--no-overlap", "--", "echo", "50% off")
    assert command(*words)[0] == 0
    assert command("pause", "kept")[0] == 0
    _, out, _ = command("export", "kept")
    assert "# a crontab cannot say: concurrencyPolicy Forbid, backoffLimit 2\n" in out
    (line,) = [line for line in out.splitlines() if line.startswith("# paused: ")]
    assert line.endswith("echo '50\\% off'")
