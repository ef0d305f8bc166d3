"""Small accidents that happen to JSON values and to bytes. Everything random comes from the dice given."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from apiserver.fuzz import oddities
from longshore.api.types import copy_of

Slot = tuple[Any, Any]
"""A container and the key or index of one place in it."""


def mutated(value: Any, dice: random.Random, times: int = 1) -> Any:
    """A copy with so many accidents."""
    root = [copy_of(value)]
    for _ in range(times):
        places = slots(root)
        dice.choice(_ACCIDENTS)(places, dice)
    return root[0]


def slots(root: Any) -> list[Slot]:
    """Every place in a value."""
    found: list[Slot] = []
    waiting = [root]
    while waiting:
        container = waiting.pop()
        for key, inner in container.items() if type(container) is dict else enumerate(container):
            found.append((container, key))
            if type(inner) in (dict, list):
                waiting.append(inner)
    return found


def _drop(places: list[Slot], dice: random.Random) -> None:
    container, key = dice.choice(places[1:] or places)
    if type(container) is dict:
        del container[key]
    elif len(container) > 1:
        container.pop(key)


def _replace(places: list[Slot], dice: random.Random) -> None:
    container, key = dice.choice(places)
    container[key] = copy_of(dice.choice(oddities.JUNK))


def _nudge(places: list[Slot], dice: random.Random) -> None:
    """A scalar becomes one like it."""
    scalars = [(c, k) for c, k in places if type(c[k]) not in (dict, list)]
    if not scalars:
        return
    container, key = dice.choice(scalars)
    old = container[key]
    if type(old) is bool:
        container[key] = not old
    elif isinstance(old, int | float):
        container[key] = dice.choice((old + 1, -old, 0, old * 1000, str(old)))
    elif isinstance(old, str) and old:
        at = dice.randrange(len(old))
        container[key] = dice.choice(
            (old.upper(), old[:at], old + old, old[:at] + dice.choice("-._/ A9é") + old[at:], f" {old}")
        )


def _move(places: list[Slot], dice: random.Random) -> None:
    """A value stands where another one belongs."""
    (source, at), (target, to) = dice.choice(places), dice.choice(places)
    target[to] = copy_of(source[at])


def _rename(places: list[Slot], dice: random.Random) -> None:
    in_maps = [(c, k) for c, k in places if type(c) is dict]
    if in_maps:
        container, key = dice.choice(in_maps)
        container[dice.choice(oddities.KEYS)] = container.pop(key)


def _add(places: list[Slot], dice: random.Random) -> None:
    containers = [c[k] for c, k in places if type(c[k]) in (dict, list)]
    if not containers:
        return
    container = dice.choice(containers)
    if type(container) is dict:
        container[dice.choice(oddities.KEYS)] = copy_of(dice.choice(oddities.JUNK))
    else:
        container.insert(dice.randint(0, len(container)), copy_of(dice.choice(oddities.JUNK)))


def _double(places: list[Slot], dice: random.Random) -> None:
    lists = [c[k] for c, k in places if type(c[k]) is list and c[k]]
    if lists:
        items = dice.choice(lists)
        items.append(copy_of(dice.choice(items)))


def _shuffle(places: list[Slot], dice: random.Random) -> None:
    lists = [c[k] for c, k in places if type(c[k]) is list]
    if lists:
        dice.shuffle(dice.choice(lists))


def _nest(places: list[Slot], dice: random.Random) -> None:
    container, key = dice.choice(places)
    inner = container[key]
    for _ in range(dice.choice((1, 3, 20, 90))):
        inner = [inner] if dice.random() < 0.5 else {"a": inner}
    container[key] = inner


_ACCIDENTS: Final[tuple[Callable[[list[Slot], random.Random], None], ...]] = (
    *(_drop, _drop, _replace, _replace, _replace, _nudge, _nudge, _nudge),
    *(_move, _rename, _add, _double, _shuffle, _nest),
)


def garbled(raw: bytes, dice: random.Random) -> bytes:
    """Bytes with one accident."""
    at, to = sorted((dice.randint(0, len(raw)), dice.randint(0, len(raw))))
    match dice.randrange(8):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + raw[to:]
        case 2:
            return raw[:to] + raw[at:]
        case 3:
            return raw[:at] + bytes(dice.randrange(256) for _ in range(dice.randint(1, 8))) + raw[at:]
        case 4:
            return raw[:at] + bytes([dice.randrange(256)]) + raw[at + 1 :]
        case 5:
            return raw + dice.choice((b" x", b"}", b"\x00", raw[:20], b"\n---\n" + raw))
        case 6:
            return dice.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"//", b"k8s\x00", b"[", b"- ")) + raw
        case _:
            return dice.choice(
                (b"", b"null", b"[]", b'""', b"0", b"{", b"{}", b"k8s\x00", b"--- {}", b"!!binary |")
            )
