"""Files of a container, sent and fetched as a tar stream through exec.

The container writes a fetched archive, so it is not trusted: nothing is written outside the target, and only
files and directories are written.
"""

from __future__ import annotations

import asyncio
import io
import os
import posixpath
import shutil
import sys
import tarfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from longshore.cli.arguments import pod_choice
from longshore.cli.main import Said
from longshore.cli.server import tunnel
from longshore.cli.server.requests import Server


class Pod:
    """A running container, by the names of its pod and itself; without a name, the first container."""

    def __init__(self, server: Server, name: str, container: str) -> None:
        self._server = server
        self._pod = pod_choice.one(server, f"pod/{name}")
        phase = (self._pod.get("status") or {}).get("phase")
        if phase in ("Succeeded", "Failed"):
            raise Said(f"error: cannot exec into a container in a completed pod; current phase is {phase}")
        self._container = pod_choice.container(self._pod, container)

    def send(self, source: Path, target: str, *, preserve: bool = True) -> None:
        """Copies a file or directory into the container, below the target if that is a directory."""
        if target.endswith("/") or self._exec(["test", "-d", target], tunnel.Ends(stderr=io.BytesIO())) == 0:
            target = posixpath.join(target, source.resolve().name)
        inside = posixpath.dirname(target) or "."
        tar = ["tar", "-xmf", "-", *([] if preserve else ["--no-same-permissions", "--no-same-owner"])]
        near, far = os.pipe()
        packing = _Thread(lambda: _pack(source, posixpath.basename(target), os.fdopen(far, "wb")))
        with os.fdopen(near, "rb") as archive:
            code = self._exec([*tar, "-C", inside], tunnel.Ends(archive))
        packing.join()
        packing.check()
        if code:
            raise Said(f"command terminated with exit code {code}", code)

    def fetch(self, source: str, target: Path) -> None:
        """Copies a file or directory out of the container, into the target if that is a directory."""
        source = posixpath.normpath(source)
        if target.is_dir():
            target = target / posixpath.basename(source)
        near, far = os.pipe()
        unpacking = _Thread(lambda: _unpack(os.fdopen(near, "rb"), source, target))
        try:
            with os.fdopen(far, "wb", buffering=0) as output, _Quiet() as errors:
                code = self._exec(["tar", "cf", "-", source], tunnel.Ends(stdout=output, stderr=errors))
        finally:
            unpacking.join()
        unpacking.check()
        if code:
            raise Said(f"command terminated with exit code {code}", code)

    def _exec(self, command: Sequence[str], ends: tunnel.Ends) -> int:
        query = [("container", self._container), *(("command", word) for word in command)]
        return asyncio.run(tunnel.talk(self._server, tunnel.path(self._pod, "exec"), query, ends))


class _Quiet(io.BytesIO):
    """Standard error of tar, line by line, without its remark about leading slashes (or busybox's)."""

    _rest = b""

    def write(self, data: object) -> int:
        text = bytes(data)  # type: ignore[call-overload]  # any buffer is bytes
        *lines, self._rest = (self._rest + text).split(b"\n")
        for line in lines:
            self._tell(line + b"\n")
        return len(text)

    def close(self) -> None:
        self._tell(self._rest)
        self._rest = b""
        super().close()

    def _tell(self, line: bytes) -> None:
        if line and b"emoving leading" not in line:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()


class _Thread(threading.Thread):
    """A thread that runs a function beside the event loop; `check` raises its error again."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._work()
        except Exception as err:  # raised by `check`, in the thread that waits
            self._error = err

    def check(self) -> None:
        if isinstance(self._error, OSError):
            about = f" {self._error.filename}" if self._error.filename else ""
            raise Said(f"error: cannot copy{about}: {self._error.strerror or self._error}")
        if self._error is not None:
            raise self._error


def _pack(source: Path, name: str, output: IO[bytes]) -> None:
    """Writes an archive. Ignores a reader that is gone, because it reports the reason itself."""
    try:
        with output, tarfile.open(fileobj=output, mode="w|", format=tarfile.GNU_FORMAT) as archive:
            archive.add(source.resolve() if source.is_symlink() else source, arcname=name)
    except BrokenPipeError:
        pass


def _unpack(stream: IO[bytes], source: str, target: Path) -> None:
    """Writes the archive's files; `source` becomes `target`. Reads to the end even after an error."""
    top = source.lstrip("/")
    with stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    _write(archive, member, top, target)
        except tarfile.ReadError:
            pass  # tar wrote nothing, and has said why
        finally:
            while stream.read(2**16):
                pass


def _below(name: str, top: str) -> str:
    """The part of a member's name below the copied file or directory."""
    return name.lstrip("/").removeprefix(top).lstrip("/")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, top: str, target: Path) -> None:
    name = _below(member.name, top)
    place = target / name
    if ".." in Path(name).parts or (member.islnk() and ".." in Path(member.linkname).parts):
        print(f"warning: file {member.name!r} is outside target destination, skipping", file=sys.stderr)
    elif member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.isfile():
        place.parent.mkdir(parents=True, exist_ok=True)
        content = archive.extractfile(member)
        assert content is not None, "a regular file has content"
        if place.is_symlink():
            place.unlink()
        with content, place.open("wb") as file:
            while chunk := content.read(2**20):
                file.write(chunk)
        place.chmod(member.mode & 0o777)
    elif member.islnk():
        shutil.copy(target / _below(member.linkname, top), place)
    elif member.issym():
        print(f"warning: skipping symlink: {member.name!r} -> {member.linkname!r}", file=sys.stderr)
    else:
        print(f"warning: skipping {member.name!r}: it is no file or directory", file=sys.stderr)
