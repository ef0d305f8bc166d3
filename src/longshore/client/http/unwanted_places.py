"""Finds the namespace of an object without decoding the rest of its JSON, so that objects in unwanted
namespaces cost little."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from longshore.client.http.answers import UNREADABLE
from longshore.client.http.trimmed_objects import Listed
from longshore.client.protocol import Only


class _Meta(msgspec.Struct, frozen=True, gc=False):
    namespace: str = ""
    resourceVersion: str = ""


class _Placed(msgspec.Struct, gc=False):
    metadata: _Meta = _Meta()


class _Line(msgspec.Struct, gc=False):
    object: _Placed


_BEGINNING: Final = re.compile(
    rb'\{"type":"(?:ADDED|MODIFIED|DELETED)","object":\{'
    rb'(?:"kind":"\w+","apiVersion":"[\w./]+"|"apiVersion":"[\w./]+","kind":"\w+"),"metadata":\{"name":"[^"\\]*",'
    rb'(?:"generateName":"[^"\\]*",)?"namespace":"([^"\\]+)","uid":"[^"\\]*","resourceVersion":"(\d+)"'
)
"""An event of a built-in kind, with its fields in Kubernetes' order. Matching it takes 1.2 us, finding the
two fields anywhere in the 7 kB of a pod 5.8, and decoding what controllers read of a pod 12.8."""
_in_line: Final = msgspec.json.Decoder(_Line).decode
_in_object: Final = msgspec.json.Decoder(_Placed).decode
_items: Final = msgspec.json.Decoder(Listed[msgspec.Raw]).decode


def version(line: bytes, only: Only) -> str:
    """The resourceVersion of the object in a line of a watch, if it is in a namespace that is not wanted;
    else empty."""
    beginning = _BEGINNING.match(line)
    if beginning is not None:
        namespace, last = beginning.groups()
        return "" if only(namespace.decode()) else last.decode()
    try:
        meta = _in_line(line).object.metadata
    except UNREADABLE:
        return ""  # whoever reads all of it says what is wrong
    return meta.resourceVersion if meta.namespace and not only(meta.namespace) else ""


def page(body: bytes, only: Only, read: Callable[[bytes], Any]) -> Listed[Any]:
    """A page of a list without objects in namespaces that are not wanted; `read` decodes one."""
    found = _items(body)
    wanted = []
    for item in found.items or ():
        namespace = _in_object(item).metadata.namespace
        if not namespace or only(namespace):
            wanted.append(read(bytes(item)))
    return Listed(found.kind, found.metadata, wanted)
