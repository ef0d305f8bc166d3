"""An empty managedFields in a replaced object asks to forget all managers; decoding must not lose it."""

from __future__ import annotations

import pytest

from longshore.api.kinds import table
from longshore.apiserver.request import body

CONFIG_MAPS = table.find("", "v1", "configmaps")
assert CONFIG_MAPS is not None


@pytest.mark.parametrize(
    ("text", "media_type", "wish"),
    [
        (b'{"metadata":{"name":"c","managedFields": [ ]}}', "application/json", True),
        (b"metadata: {name: c, managedFields: []}", "application/yaml", True),
        (b'{"metadata":{"name":"c","managedFields":null}}', "application/json", False),
        (
            b'{"metadata":{"name":"c","annotations":{"a":"{\\"managedFields\\":[]}"}}}',
            "application/json",
            False,
        ),
        (b'{"metadata":{"name":"c"},"data":{"a":"managedFields: []"}}', "application/json", False),
        (b"metadata: {name: c}\ndata: {a: 'managedFields: []'}", "application/yaml", False),
    ],
)
def test_only_an_empty_list_is_the_wish(text: bytes, media_type: str, wish: bool) -> None:
    obj = body.object_from(text, media_type, CONFIG_MAPS, field_validation="Strict", warnings=[])
    assert (obj["metadata"].get("managedFields") == []) is wish
    assert ("managedFields" in obj["metadata"]) is wish
