"""Reads Volcano's scheduler.conf into settings. Pure.

    actions: "enqueue, allocate, backfill"
    tiers:
    - plugins:
      - name: priority
      - name: gang
        enablePreemptable: false

The text may also be the whole ConfigMap that Volcano's scheduler mounts. A mistake refuses the text; a
plugin, switch or argument that has no effect here is a warning that names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from longshore.api.codec.decoded import DecodeError
from longshore.api.time import durations
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.conf.plugin_table import Argument
from longshore.scheduler.gang.settings import (
    ACTIONS,
    DEFAULT_ACTIONS,
    DEFAULT_TIERS,
    Plugin,
    Settings,
    Tiers,
)

CONFIG_MAP_KEY: Final = "volcano-scheduler.conf"
_FIELDS: Final = ("actions", "tiers", "configurations", "metrics")
_WORDS: Final = {"true": True, "false": False}
_SHARING: Final = ("proportion", "capacity")


class BadConf(Exception):
    """The scheduler's configuration has a mistake; the message names the field, the value and the rule."""


class Read(msgspec.Struct, frozen=True):
    """Settings, and warnings about the parts of the text that have no effect."""

    settings: Settings
    warnings: tuple[str, ...] = ()


def read(raw: bytes) -> Read:
    """The settings in a text. Raises BadConf."""
    return _Reader().read(_document(raw))


def _document(raw: bytes) -> dict[str, Any]:
    found = _mapping_of(raw)
    if found.get("kind") != "ConfigMap":
        return found
    data = _is_mapping(found.get("data") or {}, "data")
    keys = [key for key in data if key == CONFIG_MAP_KEY] or [key for key in data if key.endswith(".conf")]
    if len(keys) != 1:
        raise BadConf(f"data: Required value: the ConfigMap has no key {CONFIG_MAP_KEY}")
    return _mapping_of(str(data[keys[0]]).encode())


def _mapping_of(raw: bytes) -> dict[str, Any]:
    from longshore.api.codec import yamltext  # 10 ms of every start, and most have no such file

    try:
        found = yamltext.plain_yaml(raw)
    except DecodeError as err:
        raise BadConf(str(err)) from None
    if found.problems:
        raise BadConf(" ".join(found.problems[0].split()))
    return _is_mapping(found.value if found.value is not None else {}, "the file")


class _Reader:
    def __init__(self) -> None:
        self._warnings: list[str] = []

    def read(self, conf: dict[str, Any]) -> Read:
        self._unknown(conf, _FIELDS, "")
        settings = Settings(
            self._actions(conf.get("actions")), self._tiers(conf.get("tiers")), self._options(conf)
        )
        names = [plugin.name for tier in settings.tiers for plugin in tier]
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadConf(f'tiers: Duplicate value: "{twice[0]}": a plugin belongs to one tier')
        if all(name in names for name in _SHARING):
            raise BadConf(
                'tiers: Invalid value: "capacity": queues share by capacity or by proportion, not both'
            )
        drf = settings.plugin("drf")
        if "proportion" in names and drf is not None and drf.argument(plugin_table.HIERARCHY):
            raise BadConf(
                'tiers: Invalid value: "drf": proportion and drf with enableHierarchy exclude each other'
            )
        return Read(settings, tuple(self._warnings))

    def _actions(self, value: Any) -> tuple[str, ...]:
        if value is None:
            return DEFAULT_ACTIONS
        names = [name.strip() for name in str(value).split(",") if name.strip()]
        for name in names:
            if name not in ACTIONS:
                raise BadConf(f'actions: Unsupported value: "{name}": supported values: {", ".join(ACTIONS)}')
        return tuple(dict.fromkeys(names))

    def _tiers(self, value: Any) -> Tiers:
        if value is None:
            return DEFAULT_TIERS
        found = []
        for number, tier in enumerate(_is_list(value, "tiers")):
            path = f"tiers[{number}]"
            tier = _is_mapping(tier, path)
            self._unknown(tier, ("plugins",), path)
            plugins = [
                self._plugin(each, f"{path}.plugins[{n}]")
                for n, each in enumerate(_is_list(tier.get("plugins") or [], f"{path}.plugins"))
            ]
            found.append(tuple(plugin for plugin in plugins if plugin is not None))
        return tuple(found)

    def _plugin(self, value: Any, path: str) -> Plugin | None:
        value = _is_mapping(value, path)
        name = value.get("name")
        if not isinstance(name, str) or not name:
            raise BadConf(f"{path}.name: Required value: which plugin it is")
        row = plugin_table.PLUGINS.get(name)
        if row is None:
            why = plugin_table.LEFT_OUT.get(name)
            self._warnings.append(
                f"plugin {name} has no effect: {why}"
                if why
                else f"there is no plugin {name}; there are: {', '.join(plugin_table.PLUGINS)}"
            )
            return None
        known = {each.name: each for each in row.arguments}
        off: list[str] = []
        read: dict[str, Any] = {}
        for key, given in value.items():
            if key in ("name", "arguments"):
                continue
            where = f"{path}.{key}"
            if key == plugin_table.HIERARCHY and key in known:
                read[key] = _flag(given, where)
            elif key in plugin_table.POINTS:
                if not _flag(given, where):
                    off.append(key)
            else:
                self._warnings.append(f"{where} has no effect on plugin {name}")
        arguments = _is_mapping(value.get("arguments") or {}, f"{path}.arguments")
        read |= self._arguments(arguments, known, f"{path}.arguments", f"plugin {name}")
        return Plugin(name, tuple(off), read)

    def _options(self, conf: dict[str, Any]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for number, each in enumerate(_is_list(conf.get("configurations") or [], "configurations")):
            path = f"configurations[{number}]"
            each = _is_mapping(each, path)
            name = each.get("name")
            if name not in plugin_table.ACTIONS:
                self._warnings.append(f"{path}: there is no action {name}")
                continue
            arguments = _is_mapping(each.get("arguments") or {}, f"{path}.arguments")
            known = plugin_table.ACTIONS[name]
            found[name] = self._arguments(arguments, known, f"{path}.arguments", f"action {name}")
        return found

    def _arguments(
        self, given: dict[str, Any], known: dict[str, Argument], path: str, whose: str
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in given.items():
            where = f"{path}[{key}]"
            if key in known:
                found[key] = _read(known[key], value, where)
                continue
            wide = next((each for each in known.values() if _covers(each, key)), None)
            if wide is None:
                self._warnings.append(f"{where} has no effect on {whose}")
                continue
            found.setdefault(wide.name, {})[key.removeprefix(wide.name[:-1])] = _read(wide, value, where)
        return found

    def _unknown(self, found: dict[str, Any], known: Iterable[str], path: str) -> None:
        for key in found:
            if key not in known:
                self._warnings.append(f"{path}.{key} has no effect" if path else f"{key} has no effect")


def _covers(argument: Argument, name: str) -> bool:
    return argument.name.endswith("*") and name.startswith(argument.name[:-1])


def _read(argument: Argument, value: Any, path: str) -> Any:
    match argument.kind:
        case "flag":
            return _flag(value, path)
        case "number":
            return _number(value, argument.least, path)
        case "seconds":
            return _seconds(value, argument.least, path)
        case "names":
            names = value if isinstance(value, list) else str(value).split(",")
            return tuple(name for name in (str(each).strip() for each in names) if name)
        case "mapping":
            return _is_mapping(value, path)
        case "percents":
            return _percents(value, path)
        case "strategies":
            return tuple(_strategy(each, f"{path}[{n}]") for n, each in enumerate(_is_list(value, path)))
        case _:
            return _hours(value, path)


def _flag(value: Any, path: str) -> bool:
    found = _WORDS.get(str(value).lower())
    if found is None:
        raise BadConf(f'{path}: Invalid value: "{value}": must be true or false')
    return found


def _number(value: Any, least: float | None, path: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        raise BadConf(f'{path}: Invalid value: "{value}": must be a number') from None
    if isinstance(value, bool) or number != number or abs(number) == float("inf"):
        raise BadConf(f'{path}: Invalid value: "{value}": must be a number')
    if least is not None and number < least:
        raise BadConf(f'{path}: Invalid value: "{value}": must be at least {least:g}')
    return number


def _seconds(value: Any, least: float | None, path: str) -> float:
    try:
        seconds = durations.parse(str(value)) / 1e9
    except ValueError as err:
        raise BadConf(f'{path}: Invalid value: "{value}": {err}') from None
    if least is not None and seconds < least:
        raise BadConf(f'{path}: Invalid value: "{value}": must be at least {least:g}s')
    return seconds


def _percents(value: Any, path: str) -> dict[str, float]:
    return {name: _number(given, 0, f"{path}.{name}") for name, given in _is_mapping(value, path).items()}


def _strategy(value: Any, path: str) -> dict[str, Any]:
    found = _is_mapping(value, path)
    name = found.get("name")
    if name not in plugin_table.STRATEGIES:
        supported = ", ".join(plugin_table.STRATEGIES)
        raise BadConf(f'{path}.name: Unsupported value: "{name}": supported values: {supported}')
    for part in ("params", "parameters"):
        limits = _is_mapping(found.get(part) or {}, f"{path}.{part}")
        for key in ("thresholds", "targetThresholds"):
            _percents(limits.get(key) or {}, f"{path}.{part}.{key}")
    return found


def _hours(value: Any, path: str) -> str:
    if plugin_table.HOURS.fullmatch(str(value).strip()) is None:
        raise BadConf(f'{path}: Invalid value: "{value}": must be hours such as 20:00-06:00')
    return str(value).strip()


def _is_mapping(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadConf(f"{path}: Invalid value: must be a mapping")
    return value


def _is_list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadConf(f"{path}: Invalid value: must be a list")
    return value
