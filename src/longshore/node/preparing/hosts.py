"""/etc/hosts of pods, as the kubelet writes it: localhost, the pod's own name, its aliases.

Pods of one subdomain (members of a Volcano job, pods of an Indexed Job with a headless Service) can be found
as `<hostname>.<subdomain>`. There is no DNS server here, so they share one file, which stands for the records
that a headless Service would have. Every other pod has a file for itself while it runs; a later pod reuses
the file, because the keeper reuses namespaces for equal mounts. The entries of the machine's own file come
last: pods use its network.

Files are written in place: they are mounted by themselves, and a new file in its place would never be seen.
If nothing can be mounted, a variable has the file's path, for programs that can read it themselves.
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
_FIELD_COUNT: Final = 6
"""Fields in the line of a pod with a subdomain: its address and five names."""
_WRITE: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER_SUFFIX: Final = ".owner"
_MACHINE_TITLE: Final = "# Entries of this machine.\n"
_HEAD_NAMES: Final = frozenset(
    (
        "localhost",
        "ip6-localhost",
        "ip6-loopback",
        "ip6-localnet",
        "ip6-mcastprefix",
        "ip6-allnodes",
        "ip6-allrouters",
    )
)
_HOST_NETWORK_HEAD: Final = "# Kubernetes-managed hosts file (host network).\n"
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


def asks_for_names(spec: Obj) -> bool:
    """Whether the pod asks for names of its own. If nothing can be mounted, a variable has the file's
    path."""
    return bool(spec.get("hostname") or spec.get("subdomain") or spec.get("hostAliases"))


class _Circle(msgspec.Struct):
    """The pods of one subdomain, which find each other by name."""

    namespace: str
    subdomain: str
    members: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    """Hostname and address of each pod, by uid."""
    files: dict[Path, Sequence[Obj]] = msgspec.field(default_factory=dict)
    """The aliases in each file, besides the members."""
    before: dict[str, str] = msgspec.field(default_factory=dict)
    """Address by hostname from an earlier longshore: kept until all pods are found again."""

    def write(self, machine: str) -> None:
        names = {**self.before, **dict(self.members.values())}
        for path, aliases in self.files.items():
            write_in_place(path, content(names, self.subdomain, self.namespace, aliases, machine))


class Hosts:
    """The files of all pods. `shared` is a directory for files that several pods use, at a time or one after
    the other; `machine` is the machine's own file."""

    def __init__(self, root: Path, shared: Path, machine: Path = Path(TARGET)) -> None:
        self._root = root
        self._shared = shared
        self._machine = _MachineFile(machine)
        self._circles: dict[tuple[str, str], _Circle] = {}
        self._of: dict[str, tuple[str, str]] = {}
        self._own = _OwnFiles(shared / "own")

    def file(self, pod: Obj, address: str) -> str:
        """The file with the names of the pod and its peers. The peers can look up the pod from now on."""
        meta, spec = pod["metadata"], pod["spec"]
        if spec.get("subdomain"):
            return str(self._in_circle(pod, address))
        path = self._own.of(meta["uid"])
        aliases = spec.get("hostAliases") or ()
        if spec.get("hostNetwork"):
            text = f"{_HOST_NETWORK_HEAD}{self._machine.text()}{_alias_lines(aliases)}"
        else:
            text = content({hostname_of(pod): address}, "", "", aliases, self._machine.entries())
        write_in_place(path, text)
        return path

    def hold(self, uid: str) -> None:
        """Keeps the file that the pod had before a restart, because the pod may run already."""
        self._own.hold(uid)

    def _in_circle(self, pod: Obj, address: str) -> Path:
        meta, spec = pod["metadata"], pod["spec"]
        uid, subdomain, aliases = meta["uid"], spec["subdomain"], spec.get("hostAliases") or ()
        key = (meta["namespace"], subdomain)
        path = self._root / uid / "etc-hosts" if aliases else self._shared / "_".join(key)
        entry = (hostname_of(pod), address)
        circle = self._circles.get(key)
        if circle is None:
            circle = self._circles[key] = _Circle(meta["namespace"], subdomain, before=_read(path))
        if circle.members.get(uid) != entry or path not in circle.files:
            self._of[uid] = key
            circle.members[uid] = entry
            circle.files[path] = aliases
            circle.write(self._machine.entries())
        return path

    def stopped(self, uid: str) -> None:
        """Frees the file of a pod that has stopped for good."""
        self._own.release(uid)

    def remove(self, uid: str) -> None:
        """Removes the names of a deleted pod."""
        self._own.release(uid)
        key = self._of.pop(uid, None)
        if key is None:
            return
        circle = self._circles[key]
        circle.before.pop(circle.members.pop(uid)[0], None)
        circle.files.pop(self._root / uid / "etc-hosts", None)
        if circle.members:
            circle.write(self._machine.entries())
            return
        del self._circles[key]
        for path in circle.files:
            path.unlink(missing_ok=True)

    def settle(self) -> None:
        """Forgets names and owners from before a restart: pods of that time have been found by now."""
        self._own.settle()
        for circle in self._circles.values():
            if circle.before:
                circle.before = {}
                circle.write(self._machine.entries())


class _OwnFiles:
    """Files that one pod uses at a time. `<number>.owner` beside each, which no pod can write, names the pod:
    a running pod keeps its file after a restart."""

    def __init__(self, directory: Path) -> None:
        self._directory = str(directory)
        self._held: dict[str, int] = {}
        """The number of each pod's file, by uid."""
        self._free: list[int] = []
        """Free files. The last used is taken first, because the keeper still has its namespaces."""
        self._before = _owners(directory)
        """The number of each pod's file, by uid, as an earlier longshore wrote it."""
        self._next = 1 + max(self._before.values(), default=0)

    def of(self, uid: str) -> str:
        self.hold(uid)
        number = self._held.get(uid)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number, self._next = self._next, self._next + 1
            write_in_place(f"{self._directory}/{number}{_OWNER_SUFFIX}", uid)
            self._held[uid] = number
        return f"{self._directory}/{number}"

    def hold(self, uid: str) -> None:
        if (number := self._before.pop(uid, None)) is not None:
            self._held[uid] = number

    def release(self, uid: str) -> None:
        if (number := self._held.pop(uid, None)) is not None:
            self._free.append(number)

    def settle(self) -> None:
        self._free[:0] = self._before.values()
        self._before = {}


def _owners(directory: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in directory.glob(f"*{_OWNER_SUFFIX}"):
        number = int(path.name.removesuffix(_OWNER_SUFFIX))
        found[path.read_text() or str(number)] = number  # empty: its writer died, and no pod has it
    return found


class _MachineFile:
    """The machine's file, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version: tuple[int, int] | None = None
        self._text = self._entries = ""

    def text(self) -> str:
        try:
            found = os.stat(self._path)
            version = (found.st_mtime_ns, found.st_size)
            if version != self._version:
                self._text = self._path.read_text(errors="replace")
                self._entries = _entries(self._text)
                self._version = version
        except OSError:
            self._text = self._entries = ""
        return self._text

    def entries(self) -> str:
        """The lines that a pod's own file does not have: all but those of localhost."""
        self.text()
        return self._entries


def _entries(text: str) -> str:
    lines = []
    for line in text.splitlines():
        names = line.partition("#")[0].split()[1:]
        if set(names) - _HEAD_NAMES:
            lines.append(f"{line}\n")
    return f"\n{_MACHINE_TITLE}{''.join(lines)}" if lines else ""


def _read(path: Path) -> dict[str, str]:
    """Address by hostname, from a file that `content` made."""
    try:
        own = path.read_text().partition(_MACHINE_TITLE)[0]
        lines = [line.split("\t") for line in own.splitlines()]
    except FileNotFoundError:
        return {}
    return {fields[-1]: fields[0] for fields in lines if len(fields) == _FIELD_COUNT}


def content(
    names: Mapping[str, str], subdomain: str, namespace: str, aliases: Sequence[Obj], machine: str
) -> str:
    """The text of a file. Sorted, so that equal names make an equal file."""
    lines = [_HEAD]
    for name in sorted(names):
        short = f"{name}.{subdomain}"
        full = f"{short}.{namespace}.{_DOMAIN}\t{short}.{namespace}.svc\t{short}.{namespace}\t{short}\t"
        lines.append(f"{names[name]}\t{full if subdomain else ''}{name}\n")
    return "".join((*lines, _alias_lines(aliases), machine))


def _alias_lines(aliases: Sequence[Obj]) -> str:
    if not aliases:
        return ""
    lines = [f"{alias['ip']}\t" + "\t".join(alias.get("hostnames") or ()) + "\n" for alias in aliases]
    return "\n# Entries added by HostAliases.\n" + "".join(lines)


def write_in_place(path: Path | str, text: str) -> None:
    """Puts the text into the file, keeping the file. A reader never finds it empty."""
    wanted = text.encode()
    try:
        handle = os.open(path, _WRITE, 0o644)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(path, _WRITE, 0o644)
    try:
        os.pwrite(handle, wanted, 0)
        found = os.fstat(handle)
        if found.st_size != len(wanted):
            os.ftruncate(handle, len(wanted))
        if found.st_mode & 0o777 != 0o644:  # the umask, or a container that had it before
            os.fchmod(handle, 0o644)
        if found.st_uid != os.geteuid():
            os.fchown(handle, os.geteuid(), os.getegid())
    finally:
        os.close(handle)
