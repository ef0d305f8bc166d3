"""The dates of a cluster and of the code under test agree."""

from __future__ import annotations

import ssl
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from longshore.testing import Cluster, Exit
from testing.cluster.cluster_manifests import a_cronjob, a_job


def age(obj: dict[str, Any]) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(obj["metadata"]["creationTimestamp"])


def test_the_clock_starts_at_the_real_time() -> None:
    with Cluster() as c:
        made = c.apply(a_job())
        assert timedelta() <= age(made) < timedelta(minutes=1)


@pytest.mark.parametrize("start", ["2027-03-28T00:30", datetime(2027, 3, 28, 1, 30, tzinfo=UTC)])
def test_the_clock_starts_where_the_test_says(start: Any) -> None:
    with Cluster(start=start) as c:
        began = c.clock.now()
        assert began.isoformat()[:13] in ("2027-03-28T00", "2027-03-28T01")
        c.apply(a_cronjob())
        c.clock.advance("31m")
        assert len(c.list("jobs")) == 1
        c.close()
        again = c.start()
        assert again.clock.now() == began
        assert f"start='{began.isoformat()}'" in c.summary()


def test_a_start_that_is_no_moment_or_on_the_real_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="'soon' is no moment"):
        Cluster(start="soon").start()
    with pytest.raises(ValueError, match="start needs clock"):
        Cluster(start="2027-01-01", clock="real")


def test_the_same_seed_and_start_give_the_same_objects() -> None:
    def objects() -> Any:
        with Cluster(start="2027-01-01", seed=4) as c:
            c.pods.script("*", Exit(0, after="10s..1h"))
            c.apply(a_job(completions=2))
            c.clock.advance("1d")
            return [c.list(kind) for kind in ("jobs", "pods", "events")]

    assert objects() == objects()


def test_the_date_of_each_answer_is_the_clusters(c: Cluster) -> None:
    c.clock.set("2031-05-05T05:05:05")
    tls = ssl.create_default_context(cadata=c.kubeconfig_ca)
    for path in ("/version", "/api/v1/pods?watch=true&timeoutSeconds=1", "/no/such/path"):
        request = urllib.request.Request(c.url + path, headers={"Authorization": f"Bearer {c.token}"})
        try:
            with urllib.request.urlopen(request, context=tls, timeout=60) as answer:
                headers = answer.headers
        except urllib.error.HTTPError as refused:
            headers = refused.headers
        assert parsedate_to_datetime(headers["Date"]) == c.clock.now()


def test_the_codes_own_time_moves_with_the_clusters_while_it_is_patched(c: Cluster) -> None:
    real = datetime.now(UTC)
    made = c.apply(a_job())
    with c.clock.patched():
        assert age(made) == timedelta()
        c.clock.advance("8d")
        assert age(made) == timedelta(days=8)
        c.clock.set("2040-01-01T00:00")
        assert datetime.now(UTC).year == time.gmtime().tm_year == 2040
        assert time.time() == datetime(2040, 1, 1, tzinfo=UTC).timestamp()
        state = c.snapshot()
        c.clock.advance("1d")
        c.restore(state)
        assert datetime.now(UTC) == c.clock.now()
    assert timedelta() <= datetime.now(UTC) - real < timedelta(minutes=1)


def test_the_patched_time_flows_with_the_cluster(c: Cluster) -> None:
    began = c.clock.now()
    with c.clock.patched(), c.clock.flowing(36000):
        while datetime.now(UTC) < began + timedelta(hours=5):
            time.sleep(0.01)
        assert abs(datetime.now(UTC) - c.clock.now()) < timedelta(hours=10)


def test_without_time_machine_the_way_to_it_is_told(c: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "time_machine", None)
    with pytest.raises(ImportError, match="install it with: pip install time-machine"), c.clock.patched():
        pass
