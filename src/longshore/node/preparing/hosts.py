"""/etc/hosts for pods that ask for names the machine does not know.

Who asks: pods with hostAliases, and pods with a subdomain, whose peers of the same subdomain (members of
a Volcano job, pods of an Indexed Job with a headless Service) are to be found as
`<hostname>.<subdomain>`. There is no DNS server here, so this file stands for the records that a headless
Service would have. Pods of one subdomain share one file, unless they have aliases; all others have the
machine's.

Files are written in place: they are mounted by themselves, and a new file in its place would never be seen.
Where nothing can be mounted, a variable says where the file is, for programs that can look there themselves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from longshore.api.types import Obj

TARGET: Final = "/etc/hosts"
VARIABLE: Final = "LONGSHORE_HOSTS"
_DOMAIN: Final = "svc.cluster.local"
_MAX_HOSTNAME_CHARACTERS: Final = 63
_FIELDS: Final = 6
"""Of the line of a pod with a subdomain: its address and five names."""
_HEAD: Final = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""


def hostname_of(pod: Obj) -> str:
    """The pod's host name: its hostname, else its name, cut to the length of a host name."""
    spec = pod["spec"]
    name: str = spec.get("hostnameOverride") or spec.get("hostname") or pod["metadata"]["name"]
    return name if len(name) <= _MAX_HOSTNAME_CHARACTERS else name[:_MAX_HOSTNAME_CHARACTERS].rstrip("-.")


def wants_own(spec: Obj) -> bool:
    """Whether the pod asks for names that the machine's file does not have."""
    return bool(spec.get("subdomain") or spec.get("hostAliases"))


class _Circle(msgspec.Struct):
    """Pods that know each other: those of one subdomain, or one pod alone."""

    namespace: str
    subdomain: str
    members: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    """Hostname and address by uid."""
    files: dict[Path, Sequence[Obj]] = msgspec.field(default_factory=dict)
    """Each file with the aliases it has beside the members."""
    before: dict[str, str] = msgspec.field(default_factory=dict)
    """Address by hostname, as an earlier longshore wrote it: until all its pods are found again, those that
    run go on to see the names they know."""

    def write(self) -> None:
        names = {**self.before, **dict(self.members.values())}
        for path, aliases in self.files.items():
            write_in_place(path, content(names, self.subdomain, self.namespace, aliases))


class Hosts:
    """The files of all pods that want one."""

    def __init__(self, root: Path, shared: Path) -> None:
        self._root = root
        self._shared = shared
        self._circles: dict[tuple[str, str, str], _Circle] = {}
        self._of: dict[str, tuple[str, str, str]] = {}

    def path(self, pod: Obj) -> Path:
        """Where the pod's file is. It is there, with the pod's name in it, after `add`."""
        meta, spec = pod["metadata"], pod["spec"]
        if not spec.get("hostAliases"):
            return self._shared.joinpath(f"{meta['namespace']}_{spec['subdomain']}")
        return self._root.joinpath(meta["uid"], "etc-hosts")

    def add(self, pod: Obj, address: str) -> None:
        """The pod has this address: it and its peers can look each other up from now on."""
        meta, spec = pod["metadata"], pod["spec"]
        uid, subdomain = meta["uid"], spec.get("subdomain") or ""
        key = (meta["namespace"], subdomain, "" if subdomain else uid)
        entry, path = (hostname_of(pod), address), self.path(pod)
        circle = self._circles.get(key)
        if circle is None:
            before = _read(path) if subdomain else {}
            circle = self._circles[key] = _Circle(meta["namespace"], subdomain, before=before)
        if circle.members.get(uid) == entry and path in circle.files:
            return
        self._of[uid] = key
        circle.members[uid] = entry
        circle.files[path] = spec.get("hostAliases") or ()
        circle.write()

    def remove(self, uid: str) -> None:
        """The pod is gone, and its name with it."""
        key = self._of.pop(uid, None)
        if key is None:
            return
        circle = self._circles[key]
        circle.before.pop(circle.members.pop(uid)[0], None)
        circle.files.pop(self._root / uid / "etc-hosts", None)
        if circle.members:
            circle.write()
            return
        del self._circles[key]
        for path in circle.files:
            path.unlink(missing_ok=True)

    def settle(self) -> None:
        """Forgets names from before a restart: pods of that time have been found by now."""
        for circle in self._circles.values():
            if circle.before:
                circle.before = {}
                circle.write()


def _read(path: Path) -> dict[str, str]:
    """Address by hostname, from a file that `content` made."""
    try:
        lines = [line.split("\t") for line in path.read_text().splitlines()]
    except FileNotFoundError:
        return {}
    return {fields[-1]: fields[0] for fields in lines if len(fields) == _FIELDS}


def content(names: Mapping[str, str], subdomain: str, namespace: str, aliases: Sequence[Obj]) -> str:
    """The text of a file. Sorted, so that equal names make an equal file."""
    lines = [_HEAD]
    for name in sorted(names):
        short = f"{name}.{subdomain}"
        full = f"{short}.{namespace}.{_DOMAIN}\t{short}.{namespace}.svc\t{short}.{namespace}\t{short}\t"
        lines.append(f"{names[name]}\t{full if subdomain else ''}{name}\n")
    if aliases:
        lines.append("\n# Entries added by HostAliases.\n")
        lines += [f"{alias['ip']}\t" + "\t".join(alias.get("hostnames") or ()) + "\n" for alias in aliases]
    return "".join(lines)


def write_in_place(path: Path, text: str) -> None:
    """Puts the text into the file, keeping the file. A reader never finds it empty."""
    wanted = text.encode()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        os.pwrite(handle, wanted, 0)
        os.ftruncate(handle, len(wanted))
        os.fchmod(handle, 0o644)
    finally:
        os.close(handle)
