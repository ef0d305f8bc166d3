"""Random requests: mostly almost right, sometimes nonsense."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from apiserver.fuzz import bodies, oddities
from apiserver.fuzz.mutations import garbled, mutated
from apiserver.fuzz.seeds import NAMESPACE, Seed, path_of
from longshore.api.resources import Resource

Obj = dict[str, Any]


@dataclass(frozen=True)
class Wish:
    """One request. `resource` and `name` say which stored object it may change, if any."""

    method: str
    target: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    resource: Resource | None = None
    name: str = ""

    @property
    def is_stream(self) -> bool:
        return "watch" in self.target.lower()

    def __str__(self) -> str:
        return f"{self.method} {self.target} {self.headers} {self.body[:3000]!r}"


class Wisher:
    """Draws requests about the seeds and about whatever exists by now."""

    def __init__(self, seeds: list[Seed], dice: random.Random) -> None:
        self._seeds = seeds
        self._dice = dice
        self._count = 0
        self.there: list[tuple[Resource, Obj]] = []
        """Objects that exist, as the server showed them."""
        self.tokens: list[str] = ["x"]
        """Continue tokens of the server."""

    def draw(self) -> Wish:
        kinds: tuple[tuple[int, Callable[[], Wish]], ...] = (
            (30, self._create),
            (14, self._replace),
            (22, self._patch),
            (8, self._apply),
            (6, self._delete),
            (10, self._read),
            (4, self._odd_path),
            (4, self._subresource),
        )
        weights = [weight for weight, _ in kinds]
        return self._dice.choices([make for _, make in kinds], weights)[0]()

    # ---- writes

    def _create(self) -> Wish:
        dice = self._dice
        seed = dice.choice(self._seeds)
        obj = mutated(seed.obj, dice, dice.choice((0, 1, 1, 1, 2, 3)))
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        renames = seed.resource.plural != "customresourcedefinitions" and dice.random() < 0.8
        if renames and isinstance(metadata, dict) and "name" in metadata:
            metadata["name"] = self._new_name()
        body, media = bodies.as_anything(seed.resource, obj, dice)
        return Wish(
            "POST", path_of(seed.resource) + self._query(0.15), body, self._headers(media), seed.resource
        )

    def _replace(self) -> Wish:
        dice = self._dice
        resource, obj = self._existing()
        new = mutated(obj, dice, dice.choice((0, 1, 1, 2)))
        if isinstance(new, dict) and isinstance(new.get("metadata"), dict) and dice.random() < 0.5:
            new["metadata"].pop("resourceVersion", None)
        body, media = bodies.as_anything(resource, new, dice)
        return self._about(resource, obj, "PUT", body, media)

    def _patch(self) -> Wish:
        dice = self._dice
        resource, obj = self._existing()
        make, media = dice.choice(
            (
                (bodies.json_patch, "application/json-patch+json"),
                (bodies.merge_patch, "application/merge-patch+json"),
                (bodies.strategic_patch, "application/strategic-merge-patch+json"),
            )
        )
        return self._about(resource, obj, "PATCH", bodies.as_json(make(obj, dice), dice), media)

    def _apply(self) -> Wish:
        dice = self._dice
        if dice.random() < 0.3:
            seed = dice.choice(self._seeds)
            resource, obj = seed.resource, {**seed.obj, "metadata": {"name": self._new_name()}}
            patch: Any = mutated(obj, dice, dice.choice((0, 0, 1)))
        else:
            resource, obj = self._existing()
            patch = bodies.applied(resource, obj, dice)
        body = bodies.as_yaml(patch, dice) if dice.random() < 0.3 else bodies.as_json(patch, dice)
        query = f"?fieldManager={dice.choice('abc')}" + dice.choice(("", "&force=true", "&force=false"))
        return self._about(resource, obj, "PATCH", body, "application/apply-patch+yaml", query)

    def _delete(self) -> Wish:
        dice = self._dice
        resource, obj = self._existing()
        options = {
            "gracePeriodSeconds": 0,
            "propagationPolicy": "Background",
            "dryRun": ["All"],
            "orphanDependents": True,
            "preconditions": {"uid": obj["metadata"].get("uid"), "resourceVersion": "1"},
            "kind": "DeleteOptions",
            "apiVersion": "v1",
        }
        chosen = {k: v for k, v in options.items() if dice.random() < 0.3}
        body = (
            bodies.as_json(mutated(chosen, dice, dice.choice((0, 1))), dice) if dice.random() < 0.5 else b""
        )
        if dice.random() < 0.05 and resource.plural != "namespaces":
            return Wish("DELETE", path_of(resource) + self._query(1), body, self._headers("application/json"))
        return self._about(resource, obj, "DELETE", body, "application/json")

    def _about(
        self, resource: Resource, obj: Obj, method: str, body: bytes, media: str, query: str | None = None
    ) -> Wish:
        """A request about an object that exists, sometimes about its status."""
        dice = self._dice
        sub = dice.choice(["", "", "", *resource.subresources]) if method in ("PUT", "PATCH") else ""
        if sub in ("exec", "attach", "portforward", "proxy"):
            sub = ""
        name = obj["metadata"].get("name", "x")
        media = dice.choice(oddities.MEDIA) if dice.random() < 0.02 else media
        target = path_of(resource, quote(name), sub) + (self._query(0.15) if query is None else query)
        return Wish(method, target, body, self._headers(media), resource, name)

    # ---- reads and oddities

    def _read(self) -> Wish:
        dice = self._dice
        resource, obj = self._existing()
        name = obj["metadata"].get("name", "x") if dice.random() < 0.3 else ""
        path = path_of(resource, quote(name))
        if resource.namespaced and not name and dice.random() < 0.3:
            path = path.replace(f"/namespaces/{NAMESPACE}", "")
        if dice.random() < 0.05:
            watch = quote(dice.choice(oddities.WORDS))
            return Wish("GET", f"{path}?watch={watch}&timeoutSeconds=1", b"", self._headers(""))
        method = dice.choice(("GET", "GET", "GET", "HEAD"))
        return Wish(method, path + self._query(0.95), b"", self._headers(""))

    def _odd_path(self) -> Wish:
        dice = self._dice
        parts = path_of(dice.choice(self._seeds).resource, "x").split("/")[1:]
        for _ in range(dice.randint(0, 2)):
            at, change = dice.randrange(len(parts)), dice.randrange(3)
            if change == 0:
                parts[at] = dice.choice(oddities.PARTS)
            elif change == 1:
                parts.insert(at, dice.choice(oddities.PARTS))
            elif len(parts) > 1:
                del parts[at]
        path = dice.choice(oddities.PATHS) if dice.random() < 0.25 else "/" + "/".join(parts)
        method = dice.choice(("GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"))
        body = b"{}" if method in ("POST", "PUT", "PATCH") else b""
        query = "" if "?" in path else self._query(0.2)
        return Wish(method, path + query, body, self._headers(dice.choice(oddities.MEDIA)))

    def _subresource(self) -> Wish:
        dice = self._dice
        parents = [(resource, obj) for resource, obj in self.there if resource.subresources]
        if not parents:
            return self._read()
        resource, obj = dice.choice(parents)
        name, sub = obj["metadata"]["name"], dice.choice(list(resource.subresources))
        known: dict[str, Obj] = {
            "binding": {"target": {"kind": "Node", "name": "n"}, "metadata": {"name": name}},
            "eviction": {"deleteOptions": {"gracePeriodSeconds": 0}, "metadata": {"name": name}},
            "token": {"spec": {"audiences": ["a"], "expirationSeconds": 600}},
        }
        body, method = b"", dice.choice(("GET", "POST"))
        if sub in known:
            body, method = bodies.as_json(mutated(known[sub], dice, dice.choice((0, 1, 2))), dice), "POST"
        target = path_of(resource, quote(name), sub) + self._query(0.3)
        return Wish(method, target, body, self._headers("application/json"), resource, name)

    # ---- parts

    def _new_name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def _existing(self) -> tuple[Resource, Obj]:
        if self.there:
            return self._dice.choice(self.there)
        seed = self._dice.choice(self._seeds)
        return seed.resource, seed.obj

    def _headers(self, media: str) -> dict[str, str]:
        dice = self._dice
        headers = {"Accept": dice.choice(oddities.ACCEPT) if dice.random() < 0.25 else "application/json"}
        if media:
            headers["Content-Type"] = media
        if dice.random() < 0.03:
            name = dice.choice(list(oddities.HEADERS))
            headers[name] = dice.choice(oddities.HEADERS[name])
        return headers

    def _query(self, chance: float) -> str:
        dice = self._dice
        if dice.random() > chance:
            return ""
        if dice.random() < 0.05:
            return "?" + dice.choice(oddities.QUERIES)
        pairs = []
        for _ in range(dice.randint(1, 3)):
            match dice.randrange(5):
                case 0:
                    pairs.append((dice.choice(oddities.NUMERIC), dice.choice(oddities.NUMBERS)))
                case 1:
                    pairs.append((dice.choice(oddities.WORDY), dice.choice(oddities.WORDS)))
                case 2:
                    pairs += [("continue", self._token()), ("limit", "1")]
                case _:
                    chosen = dice.sample(oddities.SELECTORS, dice.choice((1, 1, 2)))
                    pairs.append((dice.choice(("labelSelector", "fieldSelector")), ",".join(chosen)))
        return "?" + "&".join(f"{name}={quote(value)}" for name, value in pairs)

    def _token(self) -> str:
        dice = self._dice
        if dice.random() < 0.3:
            return dice.choice(self.tokens)
        token: Any = {"v": "meta.k8s.io/v1", "rv": dice.choice((1, 2, -1, 10**6)), "start": "a\u0000"}
        raw = json.dumps(mutated(token, dice, dice.choice((0, 1, 2)))).encode()
        raw = garbled(raw, dice) if dice.random() < 0.2 else raw
        text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        return text if dice.random() < 0.8 else text[:-2] + "!é"
