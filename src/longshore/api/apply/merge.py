"""Merges an applied configuration into the live object: its fields win, all others stay.

Null does not delete here: it is a value like any other, and decoding makes nothing of it. What an
applier no longer mentions is taken away afterwards, by `dropped_fields.py`.
"""

from __future__ import annotations

from typing import Any

from longshore.api.apply.compare import item_step
from longshore.api.shape import ListShape, MapShape, Shape, UntypedShape
from longshore.api.types import Obj


def merged(live: Any, applied: Any, shape: Shape) -> Any:
    """The live value with the applied one laid over it. Neither is changed; parts are shared."""
    if isinstance(shape, MapShape) and not shape.atomic:
        return _maps(live, applied, shape)
    if isinstance(shape, UntypedShape) and type(live) is dict and (applied is None or type(applied) is dict):
        return _maps(live, applied, shape)
    if isinstance(shape, ListShape) and shape.type != "atomic":
        return _lists(live, applied, shape)
    return applied


def _maps(live: Any, applied: Any, shape: MapShape | UntypedShape) -> Any:
    if not applied:
        return live or applied
    if not live:
        return applied
    out: Obj = dict(live)
    for name, value in applied.items():
        if name not in live:
            out[name] = value
            continue
        child = (shape.fields.get(name) or shape.element) if isinstance(shape, MapShape) else shape
        out[name] = merged(live[name], value, child) if child is not None else value
    return out


def _lists(live: Any, applied: Any, shape: ListShape) -> Any:
    """Items of the configuration keep its order; live ones keep their place before the next common one."""
    if not applied:
        return live or applied
    if not live:
        return applied
    step_of = item_step(shape)
    wanted = {step_of(item): item for item in applied}
    steps = [step_of(item) for item in live]
    known: dict[str, Any] = {}
    for step, item in zip(steps, live, strict=True):
        # Of items that share their keys none can be merged into: the configuration replaces them all.
        known[step] = item if step not in known else None

    def laid_over(step: str) -> Any:
        base = known.get(step)
        return wanted[step] if base is None else merged(base, wanted[step], shape.element)

    order = list(wanted)
    common = iter([step for step in order if step in known])
    anchor, at, out = next(common, None), 0, []
    for step, item in zip(steps, live, strict=True):
        if step not in wanted:
            out.append(item)
        elif step == anchor:
            until = order.index(step, at) + 1
            out.extend(laid_over(s) for s in order[at:until])
            at, anchor = until, next(common, None)
    out.extend(laid_over(s) for s in order[at:])
    return out
