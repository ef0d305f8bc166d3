"""Bodies for random requests: objects in each format, and patches of each type."""

from __future__ import annotations

import json
import random
from typing import Any

import yaml

from apiserver.fuzz import oddities
from apiserver.fuzz.mutations import garbled, mutated, slots
from longshore.api import codec
from longshore.api.resources import Resource

Obj = dict[str, Any]


def as_json(value: Any, dice: random.Random) -> bytes:
    raw = json.dumps(value, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    return garbled(raw, dice) if dice.random() < 0.04 else raw


def as_yaml(value: Any, dice: random.Random) -> bytes:
    text: str = yaml.safe_dump(value, allow_unicode=True, default_flow_style=dice.random() < 0.1)
    if dice.random() < 0.15:
        text += f"\n{dice.choice(oddities.YAML)}\n"
    raw = text.encode("utf-8", "surrogatepass")
    return garbled(raw, dice) if dice.random() < 0.1 else raw


def as_protobuf(resource: Resource, obj: Any, dice: random.Random) -> bytes:
    """The object as protobuf where it still has such a form, and then perhaps a little broken."""
    try:
        plain = codec.from_value(obj, resource.message).obj
        raw = codec.encode_document({"kind": resource.kind, "apiVersion": resource.group_version, **plain})
    except (codec.DecodeError, AttributeError, TypeError):
        raw = b"k8s\x00" + dice.randbytes(40)
    return garbled(raw, dice) if dice.random() < 0.4 else raw


def as_anything(resource: Resource, obj: Any, dice: random.Random) -> tuple[bytes, str]:
    """The object in some format, with its media type (or a wrong one)."""
    form = dice.random()
    if form < 0.08:
        return as_yaml(obj, dice), "application/yaml"
    if form < 0.2 and resource.style == "builtin":
        return as_protobuf(resource, obj, dice), "application/vnd.kubernetes.protobuf"
    media = dice.choice(oddities.MEDIA) if dice.random() < 0.03 else "application/json"
    return as_json(obj, dice), media


def json_patch(obj: Obj, dice: random.Random) -> Any:
    operations: Any = [_operation(obj, dice) for _ in range(dice.randint(0, 4))]
    return mutated(operations, dice) if dice.random() < 0.1 else operations


def merge_patch(obj: Obj, dice: random.Random) -> Any:
    return mutated(thinned(obj, dice), dice, dice.choice((1, 1, 2)))


def strategic_patch(obj: Obj, dice: random.Random) -> Any:
    """A part of the object with directives in it."""
    patch = thinned(obj, dice)
    maps = [c[k] for c, k in slots([patch]) if type(c[k]) is dict]
    for _ in range(dice.randint(0, 2) if maps else 0):
        chosen = dice.choice(maps)
        lists = [k for k, v in chosen.items() if type(v) is list and not k.startswith("$")]
        name = dice.choice(lists) if lists else "containers"
        directives: tuple[tuple[str, Any], ...] = (
            ("$patch", dice.choice(("delete", "replace", "merge", "bogus", 1))),
            ("$retainKeys", list(chosen)[:2]),
            (f"$setElementOrder/{name}", chosen.get(name, [])),
            (f"$deleteFromPrimitiveList/{name}", ["a", *list(chosen)[:1]]),
        )
        key, value = dice.choice(directives)
        chosen[key] = value
    return mutated(patch, dice, dice.choice((0, 1, 1)))


def applied(resource: Resource, obj: Obj, dice: random.Random) -> Any:
    """A part of the object as a client would apply it."""
    patch = thinned(obj, dice)
    patch["apiVersion"], patch["kind"] = resource.group_version, resource.kind
    metadata = patch["metadata"] = dict(obj.get("metadata") or {})
    if dice.random() < 0.9:
        metadata.pop("managedFields", None)
    if dice.random() < 0.8:
        metadata.pop("resourceVersion", None)
    return mutated(patch, dice, dice.choice((0, 0, 1, 1, 2)))


def thinned(obj: Obj, dice: random.Random) -> Obj:
    """Some branches of an object; items of lists stay whole or are thinned too."""
    out: Obj = {}
    for key, value in obj.items():
        if dice.random() < 0.4:
            continue
        if type(value) is dict:
            out[key] = thinned(value, dice)
        elif type(value) is list:
            out[key] = [thinned(v, dice) if type(v) is dict and dice.random() < 0.5 else v for v in value]
        else:
            out[key] = value
    return out


def _operation(obj: Obj, dice: random.Random) -> Any:
    pointers = list(_pointers(obj))

    def pointer() -> str:
        if dice.random() < 0.15:
            return dice.choice(oddities.POINTERS)
        return dice.choice(pointers) + dice.choice(("", "", "", "/-", "/new", "/0"))

    names = ("add", "remove", "replace", "move", "copy", "test", "add", "replace")
    operation: Obj = {"op": dice.choice(names), "path": pointer()}
    if operation["op"] in ("move", "copy") or dice.random() < 0.05:
        operation["from"] = pointer()
    if dice.random() < 0.9:
        container, key = dice.choice(slots([obj]))
        operation["value"] = dice.choice((dice.choice(oddities.JUNK), container[key]))
    return operation if dice.random() < 0.95 else mutated(operation, dice)


def _pointers(value: Any, prefix: str = "") -> list[str]:
    out = [prefix]
    items = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, inner in items:
        out += _pointers(inner, f"{prefix}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return out
