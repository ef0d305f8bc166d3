"""The API server of `outside.py`: Jobs, pods and Leases in dictionaries, and a kubelet in one line.

Knows as much of the API as controllers ask for, checks nothing, and counts requests and bytes.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import uvloop

encode, decode = msgspec.json.encode, msgspec.json.decode
Obj = dict[str, Any]
POD_SECONDS = 0.05
START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
IMAGE = "registry.example/team/app:1.2.3"
KINDS = {"jobs": ("batch/v1", "Job"), "pods": ("v1", "Pod"), "leases": ("coordination.k8s.io/v1", "Lease")}
ENV = [{"name": f"VARIABLE_{n}", "value": f"a value of number {n}, as people write them"} for n in range(15)]
MOUNTS = [{"name": f"volume-{n}", "mountPath": f"/data/{n}"} for n in range(4)]
TEMPLATE: Obj = {
    "metadata": {"labels": {"app": "bench"}},
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": IMAGE,
                "command": ["/bin/sh", "-c", "exec work"],
                "env": ENV,
                "volumeMounts": MOUNTS,
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "terminationMessagePath": "/dev/termination-log",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "volumes": [{"name": f"volume-{n}", "emptyDir": {}} for n in range(4)],
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
    },
}
ORDER = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("labels", "annotations", "ownerReferences", "finalizers", "managedFields"),
)
"""Metadata as Kubernetes writes it."""
FIELDS = {f"f:field-{n}": {f"f:inner-{m}": {} for m in range(8)} for n in range(12)}
MANAGED = [
    {"manager": who, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": FIELDS}
    for who in ("longshore-controllers", "kubelet")
]


class Api:
    def __init__(self) -> None:
        self.revision, self.serial = 100, 0
        self.objects: dict[str, dict[tuple[str, str], Obj]] = {kind: {} for kind in KINDS}
        self.watchers: dict[str, list[asyncio.Transport]] = {kind: [] for kind in KINDS}
        self.counts: Counter[str] = Counter()
        self.received = self.sent = self.complete = 0
        self.waiting: list[Obj] = []
        self.siblings: Counter[str] = Counter()
        self.apart = 0.0
        """Seconds between the ends of two pods of a Job."""
        self.within = 0.0
        """Seconds in which all Jobs are created."""

    def put(self, kind: str, obj: Obj, event: str) -> Obj:
        self.revision += 1
        meta = obj["metadata"] | {"resourceVersion": str(self.revision)}
        obj["metadata"] = meta = {name: meta[name] for name in ORDER if name in meta}
        key = (meta.get("namespace", ""), meta["name"])
        if event == "DELETED":
            self.objects[kind].pop(key, None)
        else:
            self.objects[kind][key] = obj
        chunk = self.chunk(kind, obj, event)
        for transport in self.watchers[kind]:
            transport.write(chunk)
            self.sent += len(chunk)
        return obj

    def chunk(self, kind: str, obj: Obj, event: str) -> bytes:
        """A line of a watch."""
        api_version, name = KINDS[kind]
        line = encode({"type": event, "object": {"apiVersion": api_version, "kind": name, **obj}}) + b"\n"
        return b"%x\r\n%s\r\n" % (len(line), line)

    def create(self, kind: str, namespace: str, obj: Obj) -> Obj:
        self.serial += 1
        meta = obj["metadata"]
        meta["name"] = meta.get("name") or f"{meta['generateName']}{self.serial:05d}"
        meta |= {
            "namespace": namespace,
            "uid": f"uid-{self.serial}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        if kind == "pods":
            meta["managedFields"] = MANAGED
            obj["spec"] = self.admitted(obj["spec"])
            obj["status"] = {"phase": "Pending"}
            owner = meta["ownerReferences"][0]["uid"]
            self.siblings[owner] += 1
            lasts = POD_SECONDS + self.apart * self.siblings[owner]
            asyncio.get_running_loop().call_later(lasts, self.succeed, meta["namespace"], meta["name"])
        return self.put(kind, obj, "ADDED")

    def succeed(self, namespace: str, name: str) -> None:
        pod = self.objects["pods"].get((namespace, name))
        if pod is not None:
            self.tell_status(pod, "Succeeded")

    def tell_status(self, pod: Obj, phase: str) -> None:
        """A status as a kubelet writes it. Twenty pods start in one second."""
        minute, second = divmod(self.serial // 20, 60)
        begun = f"2026-01-01T{minute // 60 % 24:02d}:{minute % 60:02d}:{second:02d}Z"
        identity = f"containerd://{pod['metadata']['uid']:0>64}"
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": begun, "finishedAt": END}
        state = (
            {"terminated": ended | {"containerID": identity}}
            if phase == "Succeeded"
            else {"running": {"startedAt": begun}}
        )
        container = {
            "name": "main", "ready": phase == "Running", "restartCount": 0, "state": state, "lastState": {},
            "image": IMAGE, "imageID": f"{IMAGE}@sha256:0123456789abcdef", "containerID": identity,
            "started": False,
        }  # fmt: skip
        conditions = [
            {"type": t, "status": "True", "lastProbeTime": None, "lastTransitionTime": begun}
            for t in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ]
        address = {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}], "podIP": "10.1.2.3"}
        status = {"phase": phase, "conditions": conditions, **address, "podIPs": [{"ip": "10.1.2.3"}]}
        status |= {"startTime": begun, "containerStatuses": [container], "qosClass": "Burstable"}
        self.put("pods", {**pod, "metadata": {**pod["metadata"]}, "status": status}, "MODIFIED")

    def admitted(self, spec: Obj) -> Obj:
        """The spec with a volume for the token, whose name is the pod's own, as servers add it."""
        name = f"kube-api-access-{self.serial:05d}"
        main = spec["containers"][0]
        mounts = [*main["volumeMounts"], {"name": name, "mountPath": "/var/run/secrets/kubernetes.io"}]
        volumes = [*spec["volumes"], {"name": name, "projected": {"sources": []}}]
        return {**spec, "volumes": volumes, "containers": [{**main, "volumeMounts": mounts}]}

    def job(self, number: int, pods: int, namespaces: int) -> Obj:
        uid = f"job-uid-{number}"
        labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": f"job-{number}"}
        template = {**TEMPLATE, "metadata": {"labels": labels}}
        spec = {
            "completions": pods, "parallelism": pods, "backoffLimit": 6, "completionMode": "NonIndexed",
            "managedBy": "longshore.dev/job-controller", "suspend": False,
            "podReplacementPolicy": "TerminatingOrFailed",
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}, "template": template,
        }  # fmt: skip
        meta = {
            "name": f"job-{number}", "namespace": f"ns-{number % namespaces}", "uid": uid, "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": MANAGED,
        }  # fmt: skip
        return {"metadata": meta, "spec": spec, "status": {}}

    def cached_pod(self, number: int, phase: str, owner_kind: str) -> None:
        """A pod that nobody works on; ten each have one owner."""
        self.serial += 1
        uid, owner = f"{number:036d}", number // 10
        ref = {"apiVersion": "batch/v1" if owner_kind == "Job" else "apps/v1", "kind": owner_kind}
        ref |= {"name": f"nightly-report-{owner}", "uid": f"{owner:036x}", "controller": True}
        own = {"batch.kubernetes.io/controller-uid": ref["uid"], "controller-uid": ref["uid"]}
        named = {"batch.kubernetes.io/job-name": ref["name"], "job-name": ref["name"], "app": "bench"}
        meta: Obj = {
            "name": f"nightly-report-{owner}-{number:05d}", "namespace": "default", "uid": uid,
            "labels": own | named, "creationTimestamp": START, "ownerReferences": [ref],
            "managedFields": MANAGED,
        }  # fmt: skip
        if owner_kind == "Job":
            meta["generateName"] = f"nightly-report-{owner}-"
            if phase == "Running":
                meta["finalizers"] = ["batch.kubernetes.io/job-tracking"]
        spec = {**self.admitted(TEMPLATE["spec"]), "nodeName": f"node-{number % 10}"}
        self.tell_status({"metadata": meta, "spec": spec}, phase)


class Connection(asyncio.Protocol):
    def __init__(self, api: Api) -> None:
        self.api, self.buffer = api, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment] # of uvloop, and one in all it does

    def connection_lost(self, exc: Exception | None) -> None:
        for watchers in self.api.watchers.values():
            if self.transport in watchers:
                watchers.remove(self.transport)

    def data_received(self, data: bytes) -> None:
        self.api.received += len(data)
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, rest = self.buffer.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            size = int(headers.get("content-length", 0))
            if len(rest) < size:
                return
            self.buffer = rest[size:]
            method, target, _ = first.split(" ")
            self.answer(method, target, rest[:size])

    def reply(self, value: object, code: int = 200) -> None:
        body = encode(value)
        head = f"HTTP/1.1 {code} OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.api.sent += len(head) + len(body)
        self.transport.write(head.encode() + body)

    def refuse(self, code: int, reason: str) -> None:
        self.reply(
            {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}, code
        )

    def answer(self, method: str, target: str, body: bytes) -> None:
        api, url = self.api, urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        if parts == ["figures"]:
            counts = {"requests": dict(api.counts), "bytes received": api.received, "bytes sent": api.sent}
            return self.reply({**counts, "complete": api.complete})
        if parts == ["begin"]:
            api.counts.clear()
            api.received = api.sent = 0
            loop, pause = asyncio.get_running_loop(), api.within / max(len(api.waiting), 1)
            for number, job in enumerate(api.waiting):
                loop.call_later(number * pause, api.put, "jobs", job, "ADDED")
            return self.reply({})
        if parts == ["version"]:
            return self.reply({"major": "1", "minor": "36", "gitVersion": "v1.36.4"})
        kind = next((part for part in parts if part in KINDS or part == "events"), "")
        rest = parts[parts.index(kind) + 1 :] if kind else []
        place = parts.index("namespaces") + 1 if "namespaces" in parts else None
        namespace = parts[place] if place is not None else ""
        watched = "watch" in query
        api.counts[f"{'WATCH' if watched else method} {'/'.join([kind, *rest[1:]])}"] += 1
        if kind == "events":
            return self.reply(
                {"metadata": {"name": "e", "namespace": namespace, "resourceVersion": "1"}}, 201
            )
        if kind not in KINDS:
            return self.refuse(404, "NotFound")
        if watched:
            return self.watch(kind, query)
        if not rest:
            return self.collection(method, kind, namespace, body, query)
        self.one(method, kind, (namespace, rest[0]), rest[1:], body)

    def watch(self, kind: str, query: dict[str, str]) -> None:
        if "sendInitialEvents" in query:
            return self.refuse(400, "BadRequest")  # a list does it, and is quicker to write
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.transport.write(head)
        self.api.watchers[kind].append(self.transport)
        since = int(query.get("resourceVersion") or 0)
        for obj in self.api.objects[kind].values():  # what came between the list and the watch
            if int(obj["metadata"]["resourceVersion"]) > since:
                self.transport.write(self.api.chunk(kind, obj, "ADDED"))

    def collection(self, method: str, kind: str, namespace: str, body: bytes, query: dict[str, str]) -> None:
        api = self.api
        if method == "POST":
            obj = decode(body)
            if (namespace, obj["metadata"].get("name")) in api.objects[kind]:
                return self.refuse(409, "AlreadyExists")
            return self.reply(api.create(kind, namespace, obj), 201)
        every, start = [*api.objects[kind].values()], int(query.get("continue", 0))
        end = start + int(query.get("limit", len(every)))
        meta = {"resourceVersion": str(api.revision), "continue": str(end) if end < len(every) else ""}
        self.reply({"kind": "List", "metadata": meta, "items": every[start:end]})

    def one(self, method: str, kind: str, key: tuple[str, str], rest: list[str], body: bytes) -> None:
        api = self.api
        old = api.objects[kind].get(key)
        if old is None:
            return self.refuse(404, "NotFound")
        new = {**old, "metadata": {**old["metadata"]}}
        if method == "PUT":
            sent = decode(body)
            if sent["metadata"].get("resourceVersion") not in (None, old["metadata"]["resourceVersion"]):
                return self.refuse(409, "Conflict")
            new |= {"status": sent["status"]} if rest == ["status"] else {"spec": sent["spec"]}
            if kind == "jobs" and any(
                c["type"] == "Complete" for c in sent["status"].get("conditions") or ()
            ):
                api.complete += 1
        elif method == "PATCH":
            new["metadata"].pop("finalizers", None)
        elif method == "DELETE":
            return self.reply(api.put(kind, new, "DELETED"))
        else:
            return self.reply(old)
        self.reply(api.put(kind, new, "MODIFIED"))


async def serve(arguments: argparse.Namespace) -> None:
    api = Api()
    api.apart, api.within = arguments.apart, arguments.within
    api.waiting = [api.job(n, arguments.pods, arguments.namespaces) for n in range(arguments.jobs)]
    for number in range(arguments.cached):
        api.cached_pod(number, arguments.phase, arguments.owner)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(api), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--pods", type=int, default=0)
    parser.add_argument("--cached", type=int, default=0, help="pods that are there from the beginning")
    parser.add_argument("--phase", default="Succeeded", help="their phase")
    parser.add_argument("--apart", type=float, default=0.0, help="seconds between the ends of pods of a Job")
    parser.add_argument("--within", type=float, default=0.0, help="seconds in which all Jobs are created")
    parser.add_argument("--owner", default="Job", help="the kind of their owners")
    parser.add_argument("--namespaces", type=int, default=1)
    uvloop.run(serve(parser.parse_args()))
