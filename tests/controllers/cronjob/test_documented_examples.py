"""What docs/reference/cronjobs.md shows is what happens."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml

from controllers.cronjob.cron_scene import cronjob, sync
from controllers.cronjob.cron_world import CRONJOBS, JOBS, World
from controllers.cronjob.test_living_cronjobs import play
from longshore.api.time import instants, rfc3339
from longshore.cli.main import main
from longshore.machinery.time.wallclock import Outage
from support.places import ROOT

TEXT = (ROOT / "docs" / "reference" / "cronjobs.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)


def test_the_shown_schedule_is_printed_as_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    command, _, output = blocks("console")[0].partition("\n")
    assert main(shlex.split(command.removeprefix("$ longshore "))) == 0
    assert capsys.readouterr().out == output


def test_the_manifest_runs_once_an_hour_within_its_jitter() -> None:
    (text,) = blocks("yaml")
    manifest = yaml.safe_load(text)

    async def story(world: World) -> None:
        await world.client.create(CRONJOBS, manifest, "ns")
        async with world.running():
            await world.clock.sleep(3570 + 92)
            (job,) = (await world.client.list(JOBS, "ns")).items
            late = rfc3339.parse(job["metadata"]["creationTimestamp"]) - rfc3339.parse("2026-06-15T10:00:00Z")
            assert 0 <= late <= 91 * instants.SECOND

    play(story)


def test_the_event_after_an_outage_reads_as_shown() -> None:
    state = cronjob(created="2026-06-10T00:00:00Z", last="2026-06-15T02:00:00Z", timeZone="Europe/Berlin")
    outage = Outage(None, rfc3339.parse("2026-06-15T09:10:00Z"))
    found = sync(state, "2026-06-15T09:10:00.200Z", outage=outage)
    (told,) = (event.message for event in found.plan.events if event.reason == "CatchUp")
    assert told in " ".join(TEXT.split())
