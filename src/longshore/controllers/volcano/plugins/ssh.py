"""ssh: one key for all pods of the Job, so that each can log in to the others without a password."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from longshore.api.facts import kinds
from longshore.api.goflags import Value
from longshore.api.types import Obj
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import KeyPair, NeedsKey, Plugin, Wanted

_HOME = "/root/.ssh"
_PRIVATE, _PUBLIC, _AUTHORIZED, _CONFIG = "id_rsa", "id_rsa.pub", "authorized_keys", "config"
_BITS = 2048
_DEFAULT_PORT = 22


class Ssh(Plugin):
    name: ClassVar[str] = "ssh"
    defaults: ClassVar[dict[str, Value]] = {
        "ssh-key-file-path": _HOME,
        "ssh-private-key": "",
        "ssh-public-key": "",
        "ssh-port": _DEFAULT_PORT,
    }

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        port = self.number("ssh-port")
        self.port = port if 0 < port < 65536 else _DEFAULT_PORT

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        name, path = _secret(job), self.text("ssh-key-file-path")
        items = [{"key": key, "path": f".ssh/{key}"} for key in (_PRIVATE, _PUBLIC, _AUTHORIZED, _CONFIG)]
        mode = 0o600 if path == _HOME else 0o644
        secret = {"secretName": name, "items": items, "defaultMode": mode}
        pieces.mount(pod, {"name": name, "secret": secret}, path, subPath=".ssh")

    def objects(self, job: Obj) -> Iterable[Wanted]:
        yield Wanted(kinds.SECRETS, _secret(job), lambda found: self._secret_for(job, found))

    def _secret_for(self, job: Obj, found: Obj | None) -> Obj | NeedsKey | None:
        config = config_of(job, self.port)
        if found is not None and (found.get("data") or {}).get(_CONFIG) == _encoded(config):
            return None
        private, public = self.text("ssh-private-key"), self.text("ssh-public-key")
        if private and public:
            return _body(config, KeyPair(private, public))
        return NeedsKey(_BITS, partial(_body, config))


def _body(config: str, keys: KeyPair) -> Obj:
    data = {_PRIVATE: keys.private, _PUBLIC: keys.public, _AUTHORIZED: keys.public, _CONFIG: config}
    return {"data": {key: _encoded(text) for key, text in data.items()}}


def config_of(job: Obj, port: int) -> str:
    """Returns the SSH client configuration: short names for all pods, and no host key checks."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in job["spec"].get("tasks") or ():
        for index in range(pieces.listed(job, task)):
            name, subdomain = pieces.host(job, task, index)
            lines += [f"Host {name}", f"  HostName {name}.{subdomain}", f"  Port {port}"]
    return "\n".join(lines) + "\n"


def _secret(job: Obj) -> str:
    return f"{job['metadata']['name']}-ssh"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
