"""A namespace takes new objects when it exists and is not terminating."""

from __future__ import annotations

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.types import Obj
from longshore.apiserver.admission import namespace

JOBS = table.find("batch", "v1", "jobs")
assert JOBS is not None


def check(found: Obj | None, obj: Obj | None = None) -> None:
    assert JOBS is not None
    asked: list[tuple[str, str, str]] = []

    def get(storage: str, space: str, name: str) -> Obj | None:
        asked.append((storage, space, name))
        return found

    try:
        namespace.check_open(get, JOBS, "team", obj or {"metadata": {"name": "j"}})
    finally:
        assert asked == [("namespaces", "", "team")]


def test_an_active_namespace_is_open() -> None:
    check({"metadata": {"name": "team"}, "status": {"phase": "Active"}})


def test_a_missing_namespace_is_not_found() -> None:
    with pytest.raises(StatusError, match='namespaces "team" not found') as caught:
        check(None)
    assert caught.value.code == 404
    assert caught.value.details == {"name": "team", "kind": "namespaces"}


@pytest.mark.parametrize(
    "found",
    [
        {"metadata": {"deletionTimestamp": "2021-01-01T00:00:00Z"}, "status": {"phase": "Active"}},
        {"metadata": {}, "status": {"phase": "Terminating"}},
    ],
)
def test_a_terminating_namespace_says_so_in_words_and_in_a_cause(found: Obj) -> None:
    with pytest.raises(StatusError) as caught:
        check(found)
    assert caught.value.message == (
        'jobs.batch "j" is forbidden: unable to create new content in namespace team '
        "because it is being terminated"
    )
    assert caught.value.code == 403
    assert caught.value.has_cause("NamespaceTerminating")


def test_an_object_without_a_name_is_called_by_its_prefix() -> None:
    with pytest.raises(StatusError, match=r'jobs\.batch "run-" is forbidden'):
        check({"metadata": {}, "status": {"phase": "Terminating"}}, {"metadata": {"generateName": "run-"}})
