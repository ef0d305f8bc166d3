"""Volcano's scheduler.conf: what it may say, what it may not, and what happens when it changes."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Final

import pytest

from longshore.scheduler.gang.conf import plugin_table, scheduler_conf
from longshore.scheduler.gang.conf.conf_file import ConfFile
from longshore.scheduler.gang.conf.scheduler_conf import BadConf
from longshore.scheduler.gang.settings import DEFAULT_ACTIONS, DEFAULT_TIERS, Plugin, Settings
from support.scheduling_scene import Scene, play

ROOT: Final = Path(__file__).parents[3]
EXAMPLE: Final = ROOT / "examples/volcano/scheduler.conf"
PAGE: Final = ROOT / "docs/reference/scheduler-conf.md"


def read(text: str) -> Settings:
    found = scheduler_conf.read(text.encode())
    assert not found.warnings
    return found.settings


def test_the_configuration_of_volcanos_helm_chart_is_the_default() -> None:
    assert (
        read(
            """
            actions: "enqueue, allocate, backfill"
            tiers:
            - plugins:
              - name: priority
              - name: gang
                enablePreemptable: false
              - name: conformance
            - plugins:
              - name: overcommit
              - name: drf
                enablePreemptable: false
              - name: predicates
              - name: proportion
              - name: nodeorder
              - name: binpack
            """
        )
        == Settings()
    )


def test_an_empty_file_changes_nothing() -> None:
    assert read("") == read("# nothing") == Settings(DEFAULT_ACTIONS, DEFAULT_TIERS)


def test_without_plugins_there_are_none() -> None:
    assert read("tiers: []").tiers == ()


def test_the_whole_config_map_will_do() -> None:
    text = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: volcano-scheduler-configmap}
    data:
      volcano-scheduler.conf: |
        actions: "allocate"
        tiers: [{plugins: [{name: gang}]}]
    """
    assert read(text) == Settings(("allocate",), ((Plugin("gang"),),))
    with pytest.raises(BadConf, match="the ConfigMap has no key volcano-scheduler"):
        read("kind: ConfigMap\ndata: {other: x}")


def test_arguments_may_be_numbers_or_words() -> None:
    text = """
    tiers:
    - plugins:
      - {name: overcommit, arguments: {overcommit-factor: "1.5"}}
      - {name: sla, arguments: {sla-waiting-time: 1h2m}}
      - {name: predicates, arguments: {predicate.NodePortsEnable: "false"}}
      - {name: binpack, arguments: {binpack.resources: "a, b", binpack.resources.a: 3}}
    """
    overcommit, sla, predicates, binpack = read(text).tiers[0]
    assert overcommit.argument("overcommit-factor") == 1.5
    assert sla.argument("sla-waiting-time") == 3720
    assert predicates.argument("predicate.NodePortsEnable") is False
    assert predicates.argument("predicate.PodAffinityEnable") is True
    assert binpack.argument("binpack.resources") == ("a", "b")
    assert binpack.argument("binpack.resources.*") == {"a": 3}
    assert binpack.argument("binpack.cpu") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("actions: enqueue, jump", 'actions: Unsupported value: "jump": supported values: enqueue, '),
        ("tiers: {}", "tiers: Invalid value: must be a list"),
        ("tiers: [{plugins: [{}]}]", "tiers[0].plugins[0].name: Required value"),
        (
            "tiers: [{plugins: [{name: gang, enableJobReady: maybe}]}]",
            'tiers[0].plugins[0].enableJobReady: Invalid value: "maybe": must be true or false',
        ),
        (
            "tiers: [{plugins: [{name: overcommit, arguments: {overcommit-factor: much}}]}]",
            'tiers[0].plugins[0].arguments[overcommit-factor]: Invalid value: "much": must be a number',
        ),
        (
            "tiers: [{plugins: [{name: binpack, arguments: {binpack.cpu: -1}}]}]",
            'arguments[binpack.cpu]: Invalid value: "-1": must be at least 0',
        ),
        (
            "tiers: [{plugins: [{name: sla, arguments: {sla-waiting-time: soon}}]}]",
            'arguments[sla-waiting-time]: Invalid value: "soon": time: invalid duration',
        ),
        ("tiers: [{plugins: [{name: gang}, {name: gang}]}]", 'tiers: Duplicate value: "gang"'),
        (
            "tiers: [{plugins: [{name: proportion}]}, {plugins: [{name: capacity}]}]",
            "queues share by capacity or by proportion, not both",
        ),
        ("actions: [", "yaml: line "),
        ("- a", "the file: Invalid value: must be a mapping"),
    ],
)
def test_a_mistake_is_told_with_its_field_its_value_and_the_rule(text: str, problem: str) -> None:
    with pytest.raises(BadConf, match=re.escape(problem)):
        scheduler_conf.read(text.encode())


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("tiers: [{plugins: [{name: magic}]}]", "there is no plugin magic; there are: priority, gang, "),
        ("tiers: [{plugins: [{name: numaaware}]}]", "plugin numaaware has no effect: nodes do not tell"),
        (
            "tiers: [{plugins: [{name: gang, arguments: {size: 3}}]}]",
            "tiers[0].plugins[0].arguments[size] has no effect on plugin gang",
        ),
        ("tiers: [{plugins: [{name: gang, enable: true}]}]", "tiers[0].plugins[0].enable has no effect"),
        ("configurations: [{name: dance}]", "configurations[0]: there is no action dance"),
        ("speed: high", "speed has no effect"),
    ],
)
def test_what_has_no_effect_is_named(text: str, warning: str) -> None:
    (told,) = scheduler_conf.read(text.encode()).warnings
    assert told.startswith(warning)


def test_a_bad_file_keeps_the_last_good_settings_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text("actions: allocate\ntiers: [{plugins: [{name: magic}]}]")
    with caplog.at_level(logging.INFO, "longshore.scheduler.gang.conf.conf_file"):
        conf = ConfFile(path)
        assert "there is no plugin magic" in caplog.text
        assert not conf.look()
        path.write_text("actions: jump")
        assert not conf.look()
        assert conf.settings.actions == ("allocate",)
        assert f"{path}: actions: Unsupported value" in conf.problem
        assert "the scheduler's settings stay as they were" in caplog.text
        path.write_text("actions: enqueue, allocate")
        assert conf.look()
        assert (conf.settings.actions, conf.problem) == (("enqueue", "allocate"), "")
    path.unlink()
    assert not conf.look()
    assert conf.settings.actions == ("enqueue", "allocate")
    assert "No such file" in conf.problem


def test_a_bad_file_at_the_start_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text("actions: jump")
    with pytest.raises(BadConf, match=f"{path}: actions: "):
        ConfFile(path)


def test_a_change_of_the_file_is_in_force_within_seconds(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text("actions: enqueue, allocate")

    async def story(scene: Scene) -> None:
        conf = ConfFile(path)
        following = asyncio.create_task(conf.follow(scene.clock, scene.schedulers.configure_gangs))
        await scene.priority("hi", 1000)
        await scene.node()
        await scene.gang("low", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(5)
        assert len([n for n in range(2) if await leaving(scene, f"low-{n}")]) == 0
        path.write_text("actions: enqueue, allocate, preempt")
        await scene.settle(3)
        assert len([n for n in range(2) if await leaving(scene, f"low-{n}")]) == 1
        following.cancel()

    play(story, gangs=Settings(("enqueue", "allocate")))


async def leaving(scene: Scene, name: str) -> bool:
    found = await scene.get(name)
    return found is None or "deletionTimestamp" in found["metadata"]


def test_the_example_does_what_it_says() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("one", give={"cpu": "4"})
        await scene.node("two", give={"cpu": "4"})
        await scene.queue("a", deserved={"cpu": "2"})
        await scene.gang("first", 1, 1, {"cpu": "1"}, queue="a")
        await scene.gang("second", 3, 3, {"cpu": "1"}, queue="a")  # borrows
        await scene.settle(3)
        nodes = {await scene.node_of(name) for name in ("first-0", "second-0", "second-1", "second-2")}
        assert len(nodes) == 1  # one node is filled before the next

    play(story, gangs=read(EXAMPLE.read_text()))


def test_the_reference_page_names_every_plugin_and_argument() -> None:
    text = PAGE.read_text()
    for name, row in plugin_table.PLUGINS.items():
        assert f"| `{name}` |" in text
        for argument in row.arguments:
            assert f"`{argument.name}`" in text, (name, argument.name)
    for name in plugin_table.LEFT_OUT:
        assert f"`{name}`" in text
    for action, arguments in plugin_table.ACTIONS.items():
        assert f"`{action}`" in text
        assert all(f"`{name}`" in text for name in arguments)
