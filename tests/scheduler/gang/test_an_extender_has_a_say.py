"""The plugin `extender`: another server is asked, and a cycle waits for its answers without asking itself."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from longshore.client import Unreachable
from longshore.scheduler.gang.conf import scheduler_conf
from longshore.scheduler.gang.conf.scheduler_conf import BadConf
from longshore.scheduler.gang.settings import DEFAULT_ACTIONS
from support.scheduler_settings import FIRST, SECOND, USUAL, settings, swapped
from support.scheduling_scene import Scene, play

URL = "http://extender.example:8713/volcano/"
GPU = {"cpu": "1", "example.com/gpu": "1"}
ONE_GPU = {"container": {"resources": {"requests": GPU, "limits": {"example.com/gpu": "1"}}}}
NOBODY_REMOVED = ", ".join(DEFAULT_ACTIONS)


class Server:
    """An extender: answers by verb, each a document or a function of the question."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Any]] = []
        self.seconds = 0.0
        self.at_once = self.most_at_once = 0

    async def post(self, url: str, body: bytes) -> bytes:
        assert url.startswith(URL)
        verb, question = url.removeprefix(URL), json.loads(body)
        self.asked.append((verb, question))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.at_once -= 1
        answer = self.answers[verb]
        if isinstance(answer, Exception):
            raise answer
        found = answer(question) if callable(answer) else answer
        return found if isinstance(found, bytes) else json.dumps(found).encode()

    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.asked]


def conf(server: Server, *verbs: str, actions: str = NOBODY_REMOVED, **more: Any) -> dict[str, Any]:
    """Settings with an extender in the second tier."""
    arguments = {
        "extender.urlPrefix": URL,
        "extender.httpTimeout": "100ms",
        **{f"extender.{verb}Verb": verb for verb in verbs},
        **{f"extender.{name}": value for name, value in more.items()},
    }
    second = tuple(each for each in SECOND if each not in ("nodeorder", "binpack"))
    plugin = {"name": "extender", "arguments": arguments}
    return {"gangs": settings(FIRST, (*second, plugin), actions=actions), "post": server.post}


async def gang_on_two(scene: Scene, pods: int = 1) -> None:
    for name in ("a", "b"):
        await scene.node(name, give={"cpu": "4"})
    await scene.settle()
    await scene.gang("g", pods, pods, {"cpu": "1"})
    await scene.settle(3)


def not_on(name: str) -> Callable[[Any], Any]:
    return lambda question: {"errorMessage": "wrong node"} if question["node"]["Name"] == name else {}


# ---- nodes


@pytest.mark.parametrize("bad", ["a", "b"])
def test_a_node_that_the_extender_refuses_is_not_taken(bad: str) -> None:
    server = Server(predicate=not_on(bad))

    async def story(scene: Scene) -> None:
        await gang_on_two(scene, 2)
        assert {await scene.node_of(f"g-{n}") for n in range(2)} == {"a", "b"} - {bad}

    play(story, **conf(server, "predicate"))


@pytest.mark.parametrize("field", ["status", "errorMessage"])
def test_the_reason_is_told_and_the_extender_is_asked_again_after_a_second(field: str) -> None:
    server = Server(predicate={field: "no licence left"})

    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert await scene.bound("g") == []
        assert "2 no licence left" in (await scene.condition("g-0"))["message"]
        server.answers["predicate"] = {}
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf(server, "predicate"))


def test_the_question_shows_task_and_node_as_volcano_does_and_what_the_cycle_has_given_away() -> None:
    server = Server(predicate={})

    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4", "example.com/gpu": "2"})
        await scene.settle()
        await scene.gang("g", 2, 2, pod=ONE_GPU, minResources={})
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0", "g-1"]

    play(story, **conf(server, "predicate"))
    first = server.asked[0][1]
    task, node = first["task"], first["node"]
    assert (task["Name"], task["Namespace"], task["Job"], task["TaskRole"]) == (
        *("g-0", "default"),
        *("default/g", "w"),
    )
    assert task["Resreq"]["MilliCPU"] == 1000
    assert task["Resreq"]["ScalarResources"] == {"example.com/gpu": 1000}
    assert task["Pod"]["metadata"]["name"] == "g-0"
    assert node["Node"]["metadata"]["name"] == "n"
    idle = {each["task"]["Name"]: each["node"]["Idle"]["MilliCPU"] for _, each in server.asked}
    assert idle == {"g-0": 4000, "g-1": 3000}


@pytest.mark.parametrize("best", ["a", "b"])
def test_the_node_that_the_extender_prefers_is_taken(best: str) -> None:
    server = Server(prioritize={"nodeScore": {best: 100}})

    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert await scene.node_of("g-0") == best

    play(story, **conf(server, "prioritize"))
    assert {node["Name"] for node in server.asked[0][1]["nodes"]} == {"a", "b"}


def test_of_one_node_nobody_asks_what_it_is_worth() -> None:
    server = Server()

    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4"})
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf(server, "prioritize"))
    assert not server.asked


# ---- without an answer


BROKEN = [Unreachable("it is away"), b"nonsense", b"[]"]


@pytest.mark.parametrize("answer", BROKEN)
@pytest.mark.parametrize("ignorable", [True, False])
@pytest.mark.parametrize("verb", ["predicate", "prioritize", "jobEnqueueable", "queueOverused"])
def test_an_extender_that_fails_holds_gangs_up_unless_that_may_be_ignored(
    verb: str, ignorable: bool, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(**{verb: answer})

    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert await scene.bound("g") == (["g-0"] if ignorable else [])

    with caplog.at_level(logging.WARNING, "longshore.scheduler.gang.extending"):
        play(story, **conf(server, verb, ignorable=ignorable))
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == 1, "once, not for every question"
    assert said[0].startswith("extender: ")


def test_an_extender_that_is_slow_counts_as_one_that_is_away_and_others_are_not_held_up() -> None:
    server = Server(predicate={})
    server.seconds = 3600

    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert await scene.bound("g") == []
        message = (await scene.condition("g-0"))["message"]
        assert f"2 extender: POST {URL}predicate: no answer within 0.1 s" in message
        await scene.pod("single", {"cpu": "1"})
        await scene.settle()
        assert await scene.bound("single") == ["single"]
        server.seconds = 0
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf(server, "predicate"))


def test_where_nobody_can_be_asked_it_counts_as_away() -> None:
    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert "nobody can be asked from here" in (await scene.condition("g-0"))["message"]

    options = conf(Server(), "predicate")
    del options["post"]
    play(story, **options)


# ---- gangs, queues, victims


def test_a_gang_is_let_in_when_the_extender_says_so() -> None:
    server = Server(jobEnqueueable={"status": -1})

    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert await scene.phase("g") == "Pending"
        assert await scene.bound("g") == []
        server.answers["jobEnqueueable"] = {"status": 1}
        await scene.settle(3)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf(server, "jobEnqueueable"))
    job = server.asked[0][1]["job"]
    assert (job["Name"], job["Queue"], job["MinAvailable"]) == ("g", "default", 1)
    assert job["PodGroup"]["name"] == "g"


def test_a_gang_is_bound_when_the_extender_calls_it_ready() -> None:
    server = Server(jobReady={"status": False})

    async def story(scene: Scene) -> None:
        await gang_on_two(scene, 2)
        assert await scene.bound("g") == []
        assert await scene.phase("g") == "Inqueue"
        server.answers["jobReady"] = {"status": True}
        await scene.settle(3)
        assert await scene.bound("g") == ["g-0", "g-1"]

    play(story, **conf(server, "jobReady"))
    tasks = server.asked[0][1]["job"]["Tasks"].values()
    assert {task["NodeName"] for task in tasks} <= {"a", "b"}


def test_a_gang_without_room_for_enough_tasks_is_not_asked_about() -> None:
    server = Server(jobReady={"status": True})

    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "2"})
        await scene.settle()
        await scene.gang("g", 3, 3, {"cpu": "1"}, minResources={})
        await scene.settle(3)
        assert await scene.bound("g") == []

    play(story, **conf(server, "jobReady"))
    assert server.asked == []


def test_a_gang_that_is_held_up_holds_no_other_up() -> None:
    server = Server(jobReady=lambda question: {"status": question["job"]["Name"] != "held"})

    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4"})
        await scene.settle()
        await scene.gang("held", 2, 2, {"cpu": "1"})
        await scene.gang("g", 2, 2, {"cpu": "1"})
        await scene.settle(3)
        assert (await scene.bound("held"), await scene.bound("g")) == ([], ["g-0", "g-1"])

    play(story, **conf(server, "jobReady"))


@pytest.mark.parametrize(("ignorable", "bound"), [(True, ["g-0"]), (False, [])])
def test_an_extender_that_cannot_say_whether_a_gang_is_ready_holds_it_up_unless_that_may_be_ignored(
    ignorable: bool, bound: list[str]
) -> None:
    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert await scene.bound("g") == bound

    play(story, **conf(Server(jobReady=Unreachable("away")), "jobReady", ignorable=ignorable))


def test_a_queue_that_the_extender_calls_overused_gets_nothing() -> None:
    server = Server(queueOverused=lambda question: {"overused": question["queue"]["Name"] == "full"})

    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4"})
        await scene.queue("full")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.gang("f", 1, 1, {"cpu": "1"}, queue="full")
        await scene.settle(3)
        assert (await scene.bound("g"), await scene.bound("f")) == (["g-0"], [])

    play(story, **conf(server, "queueOverused"))


@pytest.mark.parametrize(("answer", "gone"), [("all", [2]), ("one", [1]), ("none", []), ("reject", [])])
def test_nobody_is_reclaimed_whom_the_extender_does_not_name(answer: str, gone: list[int]) -> None:
    def victims(question: Any) -> Any:
        named = [each for each in question["evictees"] if answer == "all" or each["Name"] == "a-1"]
        return {"status": -1 if answer == "reject" else 1, "victims": named if answer != "none" else []}

    server = Server(reclaimable=victims)

    async def story(scene: Scene) -> None:
        await scene.full_queue(1, 3)
        await scene.gang("b", 1, 1, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(3)
        assert await scene.leaving("a", 3) == gone

    arguments = {"extender.urlPrefix": URL, "extender.reclaimableVerb": "reclaimable"}
    plugin = {"name": "extender", "arguments": arguments}
    second = swapped(SECOND, "proportion", {"name": "proportion", "enableReclaimable": False})
    play(story, gangs=settings((*FIRST, plugin), second), post=server.post)
    assert {each["Name"] for each in server.asked[0][1]["evictees"]} <= {"a-0", "a-1", "a-2"}
    assert server.asked[0][1]["evictor"]["Name"].startswith("b-")


# ---- when it is asked


def test_only_tasks_with_resources_of_the_extender_are_asked_about() -> None:
    server = Server(predicate={"errorMessage": "no"}, jobEnqueueable={"status": -1})

    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4", "example.com/gpu": "2"})
        await scene.gang("plain", 1, 1, {"cpu": "1"})
        await scene.gang("g", 1, 1, pod=ONE_GPU, minResources={})
        await scene.settle(3)
        assert (await scene.bound("plain"), await scene.bound("g")) == (["plain-0"], [])

    more = {"managedResources": ["example.com/gpu", "example.com/memory"]}
    play(story, **conf(server, "predicate", "jobEnqueueable", **more))
    assert all("plain" not in json.dumps(question) for _, question in server.asked)


def test_questions_about_many_nodes_are_asked_side_by_side() -> None:
    server = Server(predicate={})
    server.seconds = 0.01

    async def story(scene: Scene) -> None:
        for n in range(40):
            await scene.node(f"n{n}", give={"cpu": "1"})
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf(server, "predicate"))
    assert server.verbs() == ["predicate"] * 40, "each once"
    assert server.most_at_once == 16


def test_an_extender_without_verbs_is_never_asked_and_changes_nothing() -> None:
    server = Server()

    async def story(scene: Scene) -> None:
        await scene.full_queue(1, 3)
        await scene.gang("b", 1, 1, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(2)
        assert len(await scene.leaving("a", 3)) == 1

    play(story, **conf(server, actions=USUAL))
    assert not server.asked


def test_a_session_is_opened_before_the_first_question_and_closed_after_the_last() -> None:
    server = Server(predicate={}, onSessionOpen={}, onSessionClose={})

    async def story(scene: Scene) -> None:
        await gang_on_two(scene)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf(server, "predicate", "onSessionOpen", "onSessionClose"))
    assert server.verbs() == ["onSessionOpen", "predicate", "predicate", "onSessionClose"]
    opened = server.asked[0][1]
    assert (set(opened["Nodes"]), set(opened["Jobs"])) == ({"a", "b"}, {"default/g"})
    assert "default" in opened["Queues"]


# ---- settings


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "extender.urlPrefix"),
        ({"extender.urlPrefix": "extender:80"}, "must be a URL"),
        ({"extender.urlPrefix": URL, "extender.httpTimeout": "soon"}, "soon"),
        ({"extender.urlPrefix": URL, "extender.ignorable": "perhaps"}, "must be true or false"),
    ],
)
def test_a_mistake_is_told(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConf, match=said):
        settings(({"name": "extender", "arguments": arguments},))


def test_a_verb_that_has_no_effect_is_told_by_name() -> None:
    arguments = {"extender.urlPrefix": URL, "extender.bindTaskVerb": "bind"}
    text = json.dumps({"tiers": [{"plugins": [{"name": "extender", "arguments": arguments}]}]})
    (warning,) = scheduler_conf.read(text.encode()).warnings
    assert "extender.bindTaskVerb" in warning
