"""Names of images in full, as Kubernetes completes them. Pure, and lenient: judges no name."""

from __future__ import annotations

from typing import Final, NamedTuple

_LATEST: Final = "latest"


class Name(NamedTuple):
    repository: str
    """With its registry: `docker.io/library/busybox`."""
    tag: str
    """Empty where the name has a digest alone."""
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}{'@' if self.digest else ''}{self.digest}"


def complete(image: str) -> Name:
    """The full name: Docker's registry where none is named, `latest` without tag and digest."""
    repository, tag, digest = split(image)
    return Name(with_registry(repository), tag or ("" if digest else _LATEST), digest)


def split(text: str) -> tuple[str, str, str]:
    """Repository, tag and digest as they are written; a part that is not there is empty."""
    whole, _, digest = text.partition("@")
    above, slash, last = whole.rpartition("/")
    name, _, tag = last.partition(":")
    return above + slash + name, tag, digest


def with_registry(repository: str) -> str:
    first, slash, _ = repository.partition("/")
    if not slash:
        return f"docker.io/library/{repository}"
    if "." in first or ":" in first or first == "localhost":
        return repository
    return f"docker.io/{repository}"
