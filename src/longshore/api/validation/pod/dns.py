"""Name resolution and host names of a pod: DNS policy and settings, host aliases, host names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api import field, identifiers, names
from longshore.api.field import FieldError
from longshore.api.types import Obj

_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
# The limits of the C library's resolver.
_MAX_SERVERS: Final = 3
_MAX_SEARCHES: Final = 32
_MAX_SEARCH_CHARS: Final = 2048
_MAX_HOSTNAME_CHARACTERS: Final = 64


def validate_policy(policy: str, path: str, found: list[FieldError]) -> None:
    if policy not in _POLICIES:
        found.append(field.not_supported(path, policy, _POLICIES) if policy else field.required(path))


def validate_config(config: Obj | None, policy: str, path: str, found: list[FieldError]) -> None:
    """`dnsConfig`, which policy None cannot do without."""
    if policy == "None":
        if config is None:
            found.append(field.required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            found.append(field.required(f"{path}.nameservers", text))
            return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_SERVERS:
        text = f"must not have more than {_MAX_SERVERS} nameservers"
        found.append(field.invalid(f"{path}.nameservers", servers, text))
    for i, server in enumerate(servers):
        found += [field.invalid(f"{path}.nameservers[{i}]", server, text) for text in identifiers.ip(server)]
    if len(searches) > _MAX_SEARCHES:
        text = f"must not have more than {_MAX_SEARCHES} search paths"
        found.append(field.invalid(f"{path}.searches", searches, text))
    if len(" ".join(searches)) > _MAX_SEARCH_CHARS:
        text = f"must not have more than {_MAX_SEARCH_CHARS} characters (including spaces) in the search list"
        found.append(field.invalid(f"{path}.searches", searches, text))
    for i, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            problems = names.dns1123_subdomain_with_underscore(domain)
            found += [field.invalid(f"{path}.searches[{i}]", domain, text) for text in problems]
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            found.append(field.required(f"{path}.options[{i}]", "must not be empty"))


def validate_host_aliases(aliases: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    for i, alias in enumerate(aliases):
        address = alias.get("ip") or ""
        found += [field.invalid(f"{path}[{i}].ip", address, text) for text in identifiers.ip(address)]
        for j, name in enumerate(alias.get("hostnames") or ()):
            where = f"{path}[{i}].hostnames[{j}]"
            found += [field.invalid(where, name, text) for text in names.dns1123_subdomain(name)]


def validate_hostname_override(spec: Obj, path: str, found: list[FieldError]) -> None:
    """`path` is the spec's."""
    name, where = spec["hostnameOverride"], f"{path}.hostnameOverride"
    if spec.get("setHostnameAsFQDN"):
        found.append(field.forbidden(where, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        found.append(field.forbidden(where, "may not be specified when hostNetwork is true"))
    if len(name) > _MAX_HOSTNAME_CHARACTERS:
        found.append(field.too_long(where, _MAX_HOSTNAME_CHARACTERS))
    found += [field.invalid(where, name, text) for text in names.dns1123_subdomain(name)]
