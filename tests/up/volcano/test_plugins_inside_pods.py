"""What the plugins promise, seen from inside a pod that is a process of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.real_gangs import Jobs, task

pytestmark = pytest.mark.xdist_group("volcano-real")
_RAY = """\
import socket, sys, time

given = dict(word.removeprefix("--").split("=") for word in sys.argv[2:] if "=" in word)
if "address" in given:
    host, port = given["address"].split(":")
    for _ in range(400):
        try:
            link = socket.create_connection((host, int(port)))
            break
        except OSError:
            time.sleep(0.05)
    print(link.makefile().readline().strip())
else:
    server = socket.create_server((socket.gethostbyname(socket.gethostname()), int(given["port"])))
    for _ in range(2):
        server.accept()[0].sendall(b"joined\\n")
"""


def test_every_form_of_a_peers_name_is_its_address(jobs: Jobs) -> None:
    forms = (
        "names-b-0",
        "names-b-0.names",
        "names-b-0.names.default.svc.cluster.local",
        "names-b-0.names.default.svc",
    )
    look = "; ".join(f"until getent hosts {form}; do sleep 0.05; done" for form in forms)
    jobs.create("names", [task("a", look), task("b", "hostname; sleep 2")], plugins={"svc": []})
    assert jobs.ended("names")["state"]["phase"] == "Completed"
    address = jobs.pods("names")["b-0"]["status"]["podIP"]
    lines = jobs.log("names-a-0").splitlines()
    assert len(lines) == len(forms)
    assert {line.split()[0] for line in lines} == {address}
    assert jobs.log("names-b-0").split() == ["names-b-0"]


def test_a_pod_that_runs_learns_the_names_of_those_that_come_later(jobs: Jobs) -> None:
    first = (
        "! getent hosts later-second-0.later || exit 9;"
        " until getent hosts later-second-0.later; do sleep 0.05; done"
    )
    jobs.create(
        "later",
        [task("first", first), task("second", "sleep 1", dependsOn={"name": ["first"]})],
        minAvailable=1,
        plugins={"svc": []},
    )
    assert jobs.ended("later")["state"]["phase"] == "Completed"
    assert jobs.log("later-first-0").split()[0] == jobs.pods("later")["second-0"]["status"]["podIP"]


def test_a_restarted_task_is_found_at_its_new_address(jobs: Jobs) -> None:
    """The name of a pod that was made again must not lead to the one before it."""
    server = (
        "if [ ! -e /shared/once ]; then touch /shared/once; exit 1; fi;"
        " touch /shared/twice; until [ -e /shared/seen ]; do sleep 0.05; done"
    )
    client = (
        "until [ -e /shared/twice ]; do sleep 0.05; done;"
        " getent hosts again-server-0.again; touch /shared/seen"
    )
    jobs.create(
        "again",
        [
            task("server", server, policies=[{"event": "PodFailed", "action": "RestartTask"}]),
            task("client", client),
        ],
        plugins={"svc": []},
        volumes=[{"mountPath": "/shared", "volumeClaim": _CLAIM}],
    )
    assert jobs.ended("again")["state"]["phase"] == "Completed"
    assert jobs.log("again-client-0").split()[0] == jobs.pods("again")["server-0"]["status"]["podIP"]


def test_svc_lists_all_names_in_files_and_environment(jobs: Jobs) -> None:
    show = (
        "for task in head_node w; do cat /etc/volcano/$task.host; echo; done;"
        " echo $VC_HEAD_NODE_HOSTS $VC_W_HOSTS $VC_W_NUM"
    )
    jobs.create("lists", [task("head-node", show), task("w", "true", 2)], plugins={"svc": []})
    assert jobs.ended("lists")["state"]["phase"] == "Completed"
    assert jobs.log("lists-head-node-0").splitlines() == [
        "lists-head-node-0.lists",
        "lists-w-0.lists",
        "lists-w-1.lists",
        "lists-head-node-0.lists lists-w-0.lists,lists-w-1.lists 2",
    ]


def test_env_tells_each_pod_its_index(jobs: Jobs) -> None:
    jobs.create("index", [task("w", "echo $VC_TASK_INDEX $VK_TASK_INDEX", 3)], plugins={"env": []})
    assert jobs.ended("index")["state"]["phase"] == "Completed"
    assert [jobs.log(f"index-w-{n}").strip() for n in range(3)] == ["0 0", "1 1", "2 2"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's home is /root")
def test_ssh_keys_are_in_the_pods_home_and_the_machines_own_stays(jobs: Jobs) -> None:
    own = Path("/root/.ssh")
    before = sorted(path.name for path in own.iterdir()) if own.exists() else None
    show = (
        "cd /root/.ssh; echo *; grep -c PRIVATE id_rsa; cmp id_rsa.pub authorized_keys;"
        " stat -c %a id_rsa; grep HostName config"
    )
    jobs.create("keys", [task("w", show, 2)], plugins={"ssh": [], "svc": []})
    assert jobs.ended("keys")["state"]["phase"] == "Completed"
    assert jobs.log("keys-w-1").splitlines() == [
        "authorized_keys config id_rsa id_rsa.pub",
        "2",
        "600",
        "  HostName keys-w-0.keys",
        "  HostName keys-w-1.keys",
    ]
    assert (sorted(path.name for path in own.iterdir()) if own.exists() else None) == before


def test_workers_that_wait_for_their_master_start_when_it_listens(jobs: Jobs) -> None:
    serve = "sleep 1; exec python3 -m http.server --bind $MASTER_ADDR $MASTER_PORT"
    fetch = (
        "exec python3 -c 'import os, urllib.request as web;"
        ' web.urlopen("http://{MASTER_ADDR}:{MASTER_PORT}".format(**os.environ))\''
    )
    jobs.create(
        "patient",
        [
            task("master", serve),
            task("worker", fetch, policies=[{"event": "TaskCompleted", "action": "CompleteJob"}]),
        ],
        plugins={"pytorch": ["--wait-master-enabled=true"]},
    )
    assert jobs.ended("patient")["state"]["phase"] == "Completed"
    (waited,) = jobs.pods("patient")["worker-0"]["status"]["initContainerStatuses"]
    assert (waited["name"], waited["state"]["terminated"]["exitCode"]) == ("wait-for-master", 0)


def test_hcclrank_numbers_the_pods_across_tasks(jobs: Jobs) -> None:
    tasks = [task("master", "true"), task("worker", "true", 2)]
    jobs.create("hccl", tasks, plugins={"hcclrank": [], "svc": [], "pytorch": []})
    assert jobs.ended("hccl")["state"]["phase"] == "Completed"
    ranks = {
        name: pod["metadata"]["annotations"]["hccl/rankIndex"] for name, pod in jobs.pods("hccl").items()
    }
    assert ranks == {"master-0": "0", "worker-0": "1", "worker-1": "2"}


def test_ray_workers_join_the_head_by_its_name(jobs: Jobs) -> None:
    """With a stand-in for `ray`, which is not installed here: it is started as the plugin says."""
    data = {"ray": f"#!/usr/bin/env python3\n{_RAY}"}
    where = "/api/v1/namespaces/default/configmaps"
    jobs.longshore.made("POST", where, {"metadata": {"name": "ray"}, "data": data})
    tasks = [task("head", "replaced"), task("worker", "replaced", 2)]
    for each in tasks:
        spec = each["template"]["spec"]
        spec["volumes"] = [{"name": "ray", "configMap": {"name": "ray", "defaultMode": 0o755}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "ray", "mountPath": "/opt/ray-bin"}]
        spec["containers"][0]["env"] = [{"name": "PATH", "value": f"/opt/ray-bin:{os.environ['PATH']}"}]
    jobs.create("ray", tasks, plugins={"ray": [], "svc": []})
    assert jobs.ended("ray")["state"]["phase"] == "Completed"
    assert [jobs.log(f"ray-worker-{n}").strip() for n in range(2)] == ["joined", "joined"]


_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
