"""What one request writes is in the journal whole or not at all, however full the transaction is."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.store import Commit, batch
from longshore.up.options import Options
from longshore.up.running import running

pytestmark = pytest.mark.anyio
POD = ("v1", "Pod")


async def test_an_object_and_its_quota_share_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_MAX_WRITES", 1)  # every write fills its transaction
    commits: list[Commit] = []
    async with running(
        Options(data_dir=tmp_path / "data", port=0, controllers=(), node=False, scheduler=False)
    ) as longshore:
        client = longshore.client
        for name in ("q", "r"):
            quota = {"metadata": {"name": name}, "spec": {"hard": {"pods": "5"}}}
            await client.create(("v1", "ResourceQuota"), quota, "default")
        longshore.api.store.on_commit(commits.append)
        spec = {"containers": [{"name": "main", "image": "busybox"}]}
        await client.create(POD, {"metadata": {"name": "p"}, "spec": spec}, "default")
        assert [commit.writes for commit in commits] == [3], "two quotas and the pod"
        commits.clear()
        await client.delete(POD, "p", "default")
        assert [commit.writes for commit in commits] == [4], "the mark, two quotas and the end of the pod"
