"""What a pod tries to see and touch, and at which level of isolation the walls hold.

Each attack is a shell script that exits with 0 when it got through. `trials` runs them all from containers of
one level, against victims that it makes itself: a process, a message queue, files, another pod's volume, a
port. It is run as root and as an ordinary user, so it needs nothing but the standard library and longshore.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from longshore.node.runtime import Mount
from support.keeper_engine import WALLS, Engine

ALWAYS, NEVER = frozenset({"none", "process", "full"}), frozenset[str]()
PROCESS, FULL = frozenset({"process", "full"}), frozenset({"full"})
PYTHON = Path(sys.executable).resolve()  # a virtual environment below /tmp is not seen at level full


class Attack(NamedTuple):
    threat: str
    """As docs/reference/security.md has it."""
    script: str
    held: frozenset[str]
    """The levels at which it fails for root,"""
    held_for_users: frozenset[str] | None = None
    """and for an ordinary user, where that differs."""
    read_only_root: bool = False
    no_network: bool = False
    host_paths: bool = False
    """Whether directories of the machine are mounted that hold, or are, longshore's."""

    def holds(self, level: str, *, is_root: bool) -> bool:
        held = self.held if is_root or self.held_for_users is None else self.held_for_users
        return level in held


ATTACKS = {
    "see": Attack(
        "sees processes of others", 'tr "\\0" " " < /proc/$VICTIM/cmdline | grep -q "sleep"', PROCESS
    ),
    "signal": Attack("signals processes of others", "kill -0 $VICTIM", PROCESS),
    "environment": Attack(
        "reads the environment of others", 'grep -q "the-secret" /proc/$VICTIM/environ', PROCESS, ALWAYS
    ),
    "queue": Attack("uses message queues and semaphores of others", 'ipcs -q | grep -qi "$QUEUE"', PROCESS),
    "memory": Attack("reads shared memory of others", "test -e $SHARED_MEMORY", PROCESS),
    "terminal": Attack("reads or writes terminals of others", "test -e $TERMINAL", PROCESS),
    "gain": Attack(
        "gains rights by programs of root (sudo)", "grep -q 'NoNewPrivs:.0' /proc/self/status", PROCESS
    ),
    "name": Attack("renames the machine", 'hostname "$(hostname)"', PROCESS, ALWAYS),
    "mount": Attack(
        "makes a configMap or secret writable",
        "mount -o remount,bind,rw /config; echo changed > /config/key",
        PROCESS,
        ALWAYS,
    ),
    "unshare": Attack(
        "does so in a user namespace of its own",
        "unshare --user --map-root-user --mount sh -c "
        "'mount -o remount,bind,rw /config; umount /config; echo changed > /config/key'",
        PROCESS,
        ALWAYS,
    ),
    "root": Attack(
        "makes a read-only root writable",
        "mount -o remount,bind,rw /etc; mount -o remount,bind,rw /; mount -o remount,rw /; "
        "touch /etc/longshore-was-here",
        PROCESS,
        ALWAYS,
        read_only_root=True,
    ),
    "device": Attack(
        "makes a device file", "mknod /dev/shm/loop-$$ b 7 0 && rm /dev/shm/loop-$$", PROCESS, ALWAYS
    ),
    "sniff": Attack("reads traffic of others on the network", f"{PYTHON} -c '{{sniff}}'", PROCESS, ALWAYS),
    "disk": Attack("opens a disk of the machine", "find /dev -type b -readable | grep -q .", FULL, ALWAYS),
    "modes": Attack(
        "changes modes of the machine's device nodes",
        "for node in /dev/null /dev/zero /dev/full /dev/random /dev/tty /proc/kcore; do "
        "chmod $(stat -c %a $node) $node && exit 0; done; exit 1",
        FULL,
        ALWAYS,
    ),
    "keyring": Attack("reads kernel keyrings of others", f"{PYTHON} -c '{{search}}'", FULL, ALWAYS),
    "kernel": Attack(
        "changes settings of the kernel",
        "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
        FULL,
        ALWAYS,
    ),
    "users": Attack("makes a user namespace, to try the kernel", "unshare --user true", FULL),
    "tmp": Attack("reads the /tmp of others", "test -e $TMP_FILE", FULL),
    "token": Attack("reads the administrator's token", "grep -q the-token $DATA/token", PROCESS),
    "volume": Attack("writes to a volume of another pod", "echo x > $DATA/pods/other/volume/file", PROCESS),
    "host-path": Attack(
        "does either through a hostPath: of /, above it, of itself, by a link",
        "cat /host$DATA/token /above/data/token /itself/token /by-link/data/token | grep -q the-token || "
        "echo x > /above/data/pods/other/volume/file",
        PROCESS,
        host_paths=True,
    ),
    "copies": Attack(
        "reads a backup, or a kubeconfig with the administrator's token",
        "cat $ABOVE/config $ABOVE/backup.tar.gz | grep -q the-token",
        PROCESS,
    ),
    "copies-by-host-path": Attack(
        "does so through a hostPath",
        "cat /above/config /the-config /above/backup.tar.gz | grep -q the-token",
        PROCESS,
        host_paths=True,
    ),
    "network": Attack(
        "reaches the network, with longshore.dev/network: none",
        "bash -c 'echo > /dev/tcp/127.0.0.1/$PORT'",
        PROCESS,
        no_network=True,
    ),
    "abstract-alone": Attack(
        "reaches abstract Unix sockets of others, with longshore.dev/network: none",
        f"{PYTHON} -c '{{connect}}'",
        PROCESS,
        no_network=True,
    ),
    "abstract": Attack("reaches abstract Unix sockets of others", f"{PYTHON} -c '{{connect}}'", NEVER),
    "files": Attack("reads the user's other files", "test -r $HOME_FILE", NEVER),
    "port": Attack("reaches ports of this machine", "bash -c 'echo > /dev/tcp/127.0.0.1/$PORT'", NEVER),
}
BY_TOKEN = Attack(
    "makes a pod with fewer walls by its own token: another level, hostPath, privileged, hostPID", "", ALWAYS
)
"""Tried by a pod in a real longshore (`test_a_pod_and_its_own_token.py`)."""
_ADD_KEY, _KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine, (-1, -1))
_USER_KEYRING = -4
_TEXTS = {
    "{sniff}": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "{connect}": (
        'import os, socket; socket.socket(socket.AF_UNIX).connect(chr(0) + os.environ["ABSTRACT"])'
    ),
    "{search}": (
        "import ctypes, os, sys; "
        f"sys.exit(ctypes.CDLL(None).syscall({_KEYCTL}, 10, {_USER_KEYRING}, "
        'b"user", os.environ["KEY"].encode(), 0) < 0)'
    ),
}
"""Programs of attacks, by the word that stands for each."""


async def trials(level: str, directory: Path) -> dict[str, bool]:
    """By attack, whether the walls held."""
    data = directory / "data"
    for path in ("pods/other/volume", "config"):
        (data / path).mkdir(parents=True)
    (data / "token").write_text("the-token")
    for copy in ("config", "backup.tar.gz"):
        (directory / copy).write_text("the-token")
    (directory / "link").symlink_to(directory)
    home = directory / "home-file"
    home.write_text("")
    (data / "config" / "key").write_text("value")
    server = socket.create_server(("127.0.0.1", 0))
    name = f"longshore-walls-{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0{name}")
    listener.listen(16)
    _keep_key(name)
    victim = _victim()
    near, far = os.openpty()
    queue = _made("ipcmk", "-Q").split()[-1]
    with (
        tempfile.NamedTemporaryFile(dir="/tmp") as file,
        tempfile.NamedTemporaryFile(dir="/dev/shm") as memory,
    ):
        env = {
            "VICTIM": str(victim.pid),
            "QUEUE": _key(queue),
            "SHARED_MEMORY": memory.name,
            "TERMINAL": os.ttyname(far),
            "TMP_FILE": file.name,
            "DATA": str(data),
            "ABOVE": str(directory),
            "HOME_FILE": str(home),
            "PORT": str(server.getsockname()[1]),
            "ABSTRACT": name,
            "KEY": name,
        }
        engine = Engine(data, hidden=[data, directory / "config", directory / "backup.tar.gz"])
        await engine.open()
        try:
            return {name: await _held(engine, attack, level, env) for name, attack in ATTACKS.items()}
        finally:
            await engine.runtime.close(kill=True)
            victim.kill()
            victim.wait()
            server.close()
            listener.close()
            os.close(near)
            os.close(far)
            _made("ipcrm", "-q", queue)


async def _held(engine: Engine, attack: Attack, level: str, env: dict[str, str]) -> bool:
    key = engine.directory / "config" / "key"
    script = attack.script
    for word, text in _TEXTS.items():
        script = script.replace(word, text)
    walls: Any = WALLS[level]
    if attack.no_network and walls is not None:
        walls = msgspec.structs.replace(walls, no_network=True)
    above = engine.directory.parent
    mounts = [Mount(str(engine.directory / "config"), "/config", True)]
    if attack.host_paths:
        mounts += [
            Mount("/", "/host"),
            Mount(str(above), "/above"),
            Mount(str(engine.directory), "/itself"),
            Mount(str(above / "link"), "/by-link"),
            Mount(str(above / "config"), "/the-config"),
        ]
    state = await engine.run(
        "sh",
        "-c",
        f"({script}) 2>/dev/null",
        env=tuple(env.items()),
        walls=walls,
        mounts=tuple(mounts),
        read_only_root=attack.read_only_root,
    )
    changed = key.read_text() != "value"
    key.write_text("value")
    _forget_traces()
    return state.exit_code != 0 and not changed


def _key(queue: str) -> str:
    """The key of a message queue, which `ipcs` lists beside its number."""
    rows = [line.split() for line in _made("ipcs", "-q").splitlines()]
    (key,) = (row[0] for row in rows if len(row) > 2 and row[1] == queue)
    return key


def _keep_key(name: str) -> None:
    """In the user's keyring, for a few minutes."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    key = call(_ADD_KEY, b"user", name.encode(), b"secret", ctypes.c_size_t(6), _USER_KEYRING)
    if key < 0:
        raise OSError(ctypes.get_errno(), "a key could not be added")
    call(_KEYCTL, 15, key, 300)  # KEYCTL_SET_TIMEOUT


def _victim() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"], env={"SECRET": "the-secret", "PATH": os.defpath})


def _made(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _forget_traces() -> None:
    if os.geteuid() == 0:
        Path("/etc/longshore-was-here").unlink(missing_ok=True)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(trials(sys.argv[1], Path(sys.argv[2])))))
