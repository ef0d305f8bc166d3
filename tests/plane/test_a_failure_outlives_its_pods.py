"""The story and the last words of a Job that failed are kept when its pods and its reasons are gone."""

from __future__ import annotations

import msgspec

from longshore.api.retention import Retention
from longshore.machinery.records import Record
from longshore.plane.job_history import FinishedJob
from longshore.testing import Cluster, Exit

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "bad"},
    "spec": {
        "backoffLimit": 0,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "i", "command": ["x"]}],
            }
        },
    },
}


def wash_reasons_away(cluster: Cluster) -> None:
    """Others' work of an hour: more reasons than are kept."""

    async def wash() -> None:
        book = cluster.inside.plane.book
        for number in range(Retention().reasons + 1):
            book.note(Record(1.0, "pod", "other", f"p{number}", "u", "node", "Code", "words"))
            if not number % 10_000:
                book.flush()
        book.flush()

    cluster.do(wash())


def remembered(cluster: Cluster) -> FinishedJob:
    (found,) = cluster.inside.plane.history.every()
    return found


def test_the_last_words_of_a_failed_job_are_its_message_and_the_last_fifty_lines() -> None:
    lines = [f"line {number}" for number in range(200)]
    with Cluster(start="2026-01-01") as cluster:
        cluster.pods.script("*", Exit(3, logs="\n".join(lines) + "\n", message="no such table"))
        cluster.apply(JOB)
        cluster.wait("job/bad", "Failed")
        cluster.clock.advance("2s")
        found = remembered(cluster)
        assert found.last_words.splitlines() == ["no such table", *lines[-50:]]
        assert found.last_pod.startswith("bad-")
        assert "lastWords" not in found.document(), "a list of thousands would be too large"
        assert found.whole_document()["lastWords"] == found.last_words


def test_the_story_goes_on_without_pods_and_says_when_they_were_removed() -> None:
    with Cluster(start="2026-01-01") as cluster:
        cluster.pods.script("*", Exit(3, message="no such table"))
        cluster.apply(JOB)
        cluster.wait("job/bad", "Failed")
        before = cluster.why("job/bad")
        assert "exit code 3" in before
        (pod,) = cluster.list("pods")
        cluster.delete(f"pod/{pod['metadata']['name']}")
        wash_reasons_away(cluster)
        cluster.clock.advance("2s")
        found = remembered(cluster)
        assert found.document()["podsRemoved"].startswith("2026-01-01T00:")
        story = cluster.why("job/bad")
        assert "exit code 3 in container main" in story, story
        assert "no such table" in story
        assert "the Job failed: BackoffLimitExceeded" in story
        assert "its pods were removed at 00:00:00; its last words: longshore history bad" in story
        cluster.delete("job/bad")
        assert "no such table" in cluster.why("job/bad"), "of a Job that is gone, too"


def test_a_record_of_an_earlier_version_is_read() -> None:
    old = ["default", "bad", "uid", "failed", 2.0, 1.0, 0, 1, 1, "R", "M", "pod p: exit code 3"]
    found = msgspec.json.decode(msgspec.json.encode(old), type=FinishedJob)
    assert (found.last_failure, found.last_words, found.story) == ("pod p: exit code 3", "", ())
