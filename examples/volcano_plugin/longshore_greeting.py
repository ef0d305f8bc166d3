"""A job plugin for Volcano Jobs in longshore: greets every pod, and shares a list of all of them.

With `plugins: {greeting: [--word=Ahoy]}` each container finds GREETING, and the ConfigMap `<job>-crew` lists
the Job's pods for as long as it runs.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from longshore.controllers.volcano.plugins import Plugin, PluginError, Wanted


class Greeting(Plugin):
    name: ClassVar[str] = "greeting"
    defaults: ClassVar[dict[str, str | int | bool]] = {"word": "Hello"}

    def on_pod_create(self, pod: dict[str, Any], job: dict[str, Any]) -> None:
        if not self.text("word"):
            raise PluginError("greeting needs a word")
        said = f"{self.text('word')}, {pod['metadata']['name']}!"
        for container in pod["spec"]["containers"]:
            container.setdefault("env", []).append({"name": "GREETING", "value": said})

    def objects(self, job: dict[str, Any]) -> Iterable[Wanted]:
        name = job["metadata"]["name"]
        crew = [
            f"{name}-{task['name']}-{index}"
            for task in job["spec"]["tasks"]
            for index in range(task["replicas"])
        ]
        data = {"data": {"crew": "\n".join(crew)}}
        yield Wanted(
            ("v1", "ConfigMap"),
            f"{name}-crew",
            lambda found: data if found is None or found.get("data") != data["data"] else None,
            follows=True,
        )
