"""The kinds of objects that have a story, as people and as the API name them."""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api import resources

EXPLANATIONS: Final = resources.own("Explanation", "explanations", namespaced=True)
CLUSTER_EXPLANATIONS: Final = resources.own("ClusterExplanation", "clusterexplanations", namespaced=False)


class Kind(NamedTuple):
    word: str
    """The short name, as in `longshore why job/x`, in records, and in names of explanations: `job.x`."""
    title: str
    api_version: str
    plural: str
    namespaced: bool = True
    spellings: tuple[str, ...] = ()
    """Other spellings of the kind."""
    named: str = ""
    """The kind, if it differs from the title."""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def kind(self) -> str:
        """The name in objects and owner references."""
        return self.named or self.title

    @property
    def root(self) -> str:
        """The path of its API version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    def explanation(self, namespace: str, name: str) -> str:
        """The path of the explanation of an object; `name` must be escaped."""
        where = f"namespaces/{namespace}/explanations" if self.namespaced else "clusterexplanations"
        return f"/apis/longshore.dev/v1/{where}/{self.word}.{name}"


_SCHEDULING: Final = "scheduling.volcano.sh/v1beta1"
_VOLCANO: Final = "batch.volcano.sh/v1alpha1"

KINDS: Final = {
    kind.word: kind
    for kind in (
        Kind("job", "Job", "batch/v1", "jobs", True, ("jobs",)),
        Kind("cronjob", "CronJob", "batch/v1", "cronjobs", True, ("cronjobs", "cj")),
        Kind("pod", "Pod", "v1", "pods", True, ("pods", "po")),
        Kind(
            "vcjob",
            "Volcano Job",
            _VOLCANO,
            "jobs",
            True,
            ("vcjobs", "vj"),
            "Job",
        ),
        Kind(
            "cronvcjob",
            "Volcano CronJob",
            _VOLCANO,
            "cronjobs",
            True,
            ("cronvcjobs", "cronvj"),
            "CronJob",
        ),
        Kind("podgroup", "PodGroup", _SCHEDULING, "podgroups", True, ("podgroups", "pg")),
        Kind("queue", "Queue", _SCHEDULING, "queues", False, ("queues", "q")),
        Kind("jobflow", "JobFlow", "flow.volcano.sh/v1alpha1", "jobflows", True, ("jobflows", "jf")),
        Kind(
            "pvc",
            "PersistentVolumeClaim",
            "v1",
            "persistentvolumeclaims",
            True,
            ("persistentvolumeclaim", "persistentvolumeclaims"),
        ),
        Kind(
            "pv",
            "PersistentVolume",
            "v1",
            "persistentvolumes",
            False,
            ("persistentvolume", "persistentvolumes"),
        ),
        Kind("namespace", "Namespace", "v1", "namespaces", False, ("namespaces", "ns")),
    )
}
"""The kinds that have a story, by their short names."""
NODE: Final = Kind("node", "Node", "v1", "nodes", False)
"""A kind without a story of its own; nodes are part of the stories of pods."""

_BY_RESOURCE: Final = {(kind.group, kind.plural): kind for kind in KINDS.values()}
_BY_SPELLING: Final = {
    spelling: kind
    for kind in KINDS.values()
    for spelling in (
        kind.word,
        *kind.spellings,
        f"{kind.kind.lower()}.{kind.group}",
        f"{kind.plural}.{kind.group}",
    )
}
"""All spellings, also those that `get -o name` and `apply` print: job.batch, job.batch.volcano.sh."""


def named(word: str) -> Kind | None:
    """The kind that a person means by this word; None if there is none."""
    return _BY_SPELLING.get(word.lower())


def of_resource(group: str, plural: str) -> Kind | None:
    return _BY_RESOURCE.get((group, plural))
