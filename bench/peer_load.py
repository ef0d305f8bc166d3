"""The same work through one tool: `python bench/peer_load.py TOOL COUNT`, by the Python that has the tool.

Starts the tool from nothing, runs one task, then COUNT times /bin/true, eight at a time, and prints one line
of JSON: when the first task was over and when the many were, in seconds since 1970. Imports nothing
but the tool and what Python brings, since each tool has an environment of its own. `peers.py` is who asks.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

AT_ONCE = 8
TRUE = "/bin/true"
Work = Callable[[int], None]
"""Runs so many tasks, and returns when they are over."""


def one_task(number: int = 0) -> int:
    """The task of tools that run functions."""
    return subprocess.run([TRUE], check=True).returncode


@contextmanager
def process(*words: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server of the tool, until the end."""
    running = subprocess.Popen(
        words, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def redis() -> Iterator[str]:
    """The address of a broker that writes every change to its file, and answers."""
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        words = ("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", directory)
        with process(*words, "--appendonly", "yes"):
            while True:
                with socket.socket() as asked:
                    if not asked.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.01)
            yield f"redis://127.0.0.1:{port}/0"


# Tools that read a list.


def lines(*words: str) -> Iterator[Work]:
    def work(count: int) -> None:
        text = "".join(f"{number}\n" for number in range(count))
        subprocess.run(words, input=text, text=True, check=True, stdout=subprocess.DEVNULL)

    yield work


def xargs() -> Iterator[Work]:
    return lines("xargs", "-P", str(AT_ONCE), "-n", "1", TRUE)


def parallel() -> Iterator[Work]:
    return lines("parallel", "-j", str(AT_ONCE), TRUE)


def make() -> Iterator[Work]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "Makefile"

        def work(count: int) -> None:
            targets = " ".join(f"t{number}" for number in range(count))
            # `:;` keeps make from running /bin/true without a shell, as a rule of a real Makefile has one.
            file.write_text(f"all: {targets}\n.PHONY: all {targets}\n{targets}:\n\t@:; {TRUE}\n")
            subprocess.run(["make", "-s", "-j", str(AT_ONCE), "-f", str(file)], check=True)

        yield work


def task_spooler() -> Iterator[Work]:
    with tempfile.TemporaryDirectory() as directory:
        there = {
            **os.environ,
            "TS_SOCKET": f"{directory}/socket",
            "TS_MAXFINISHED": "10",
            "TMPDIR": directory,
        }
        there["TS_MAXCONN"] = "1000"

        def tsp(*words: str) -> None:
            subprocess.run(["tsp", *words], check=True, env=there, stdout=subprocess.DEVNULL)

        def work(count: int) -> None:
            for _ in range(count):
                tsp("-n", TRUE)
            tsp("-w")  # for the last one; the others began before it

        tsp("-S", str(AT_ONCE))
        try:
            yield work
        finally:
            tsp("-K")


# Tools with servers.


def longshore() -> Iterator[Work]:
    own = (sys.executable, "-m", "longshore")
    with tempfile.TemporaryDirectory() as directory:
        up = [*own, "up", "--port", "0", "--data-dir", directory, "--on-stop", "kill"]
        running = subprocess.Popen(up, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert running.stdout is not None
        found = re.search(r"KUBECONFIG=(\S+)", running.stdout.readline())
        assert found is not None, "longshore did not start"
        there = {**os.environ, "KUBECONFIG": found[1]}

        def work(count: int) -> None:
            many = ("--completions", str(count), "--parallelism", str(AT_ONCE))
            subprocess.run(
                [*own, "run", "--no-logs", *many, "--", TRUE],
                check=True,
                env=there,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

        try:
            yield work
        finally:
            running.terminate()
            running.wait()


def celery() -> Iterator[Work]:
    from celery import Celery  # each tool is only in its own environment

    with redis() as broker:
        app = Celery("peer_load", broker=broker, backend=broker)
        app.conf.update(task_acks_late=True)
        task = app.task(name="peer_load.one_task")(one_task)
        with process(
            sys.executable, __file__, "celery-worker", broker, PYTHONPATH=str(Path(__file__).parent)
        ):

            def work(count: int) -> None:
                for result in [task.delay() for _ in range(count)]:
                    result.get(interval=0.01)

            yield work


def celery_worker(broker: str) -> None:
    from celery import Celery

    app = Celery("peer_load", broker=broker, backend=broker)
    app.conf.update(task_acks_late=True)
    app.task(name="peer_load.one_task")(one_task)
    app.worker_main(["worker", "--concurrency", str(AT_ONCE), "--loglevel", "CRITICAL"])


def rq() -> Iterator[Work]:
    from redis import Redis
    from rq import Queue

    with redis() as broker:
        queue = Queue(connection=Redis.from_url(broker))
        program = str(Path(sys.executable).with_name("rq"))
        words = (program, "worker-pool", "-q", "-n", str(AT_ONCE), "--url", broker)
        with process(*words, PYTHONPATH=str(Path(__file__).parent)):

            def work(count: int) -> None:
                jobs = [queue.enqueue("peer_load.one_task", result_ttl=600) for _ in range(count)]
                for job in jobs:
                    while not (job.is_finished or job.is_failed):
                        job.refresh()
                        time.sleep(0.005)

            yield work


def dask() -> Iterator[Work]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=AT_ONCE, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def work(count: int) -> None:
            client.gather(client.map(one_task, range(count), pure=False, retries=1))

        yield work


def ray() -> Iterator[Work]:
    import ray as tool

    tool.init(num_cpus=AT_ONCE, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    task = tool.remote(max_retries=1)(one_task)

    def work(count: int) -> None:
        tool.get([task.remote() for _ in range(count)])

    try:
        yield work
    finally:
        tool.shutdown()


def prefect() -> Iterator[Work]:
    with tempfile.TemporaryDirectory() as directory:
        os.environ.update(PREFECT_HOME=directory, PREFECT_LOGGING_LEVEL="CRITICAL", DO_NOT_TRACK="1")
        os.environ["PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"] = "120"
        from prefect import flow, task
        from prefect.task_runners import ThreadPoolTaskRunner

        each = task(retries=1)(one_task)

        @flow(task_runner=ThreadPoolTaskRunner(max_workers=AT_ONCE))
        def many(count: int) -> None:
            each.map(range(count)).result()

        yield lambda count: many(count)


AIRFLOW_DAG = """
import subprocess
from datetime import timedelta
from airflow.sdk import DAG, task

tries = {"retries": 3, "retry_delay": timedelta(seconds=1)}
with DAG("bench", schedule=None, max_active_tasks=8, params={"count": 1}, default_args=tries):

    @task
    def numbers(params=None):
        return list(range(params["count"]))

    @task
    def one(number):
        subprocess.run(["/bin/true"], check=True)

    one.expand(number=numbers())
"""


def airflow() -> Iterator[Work]:
    """All parts by `airflow standalone`; runs are begun by its command and read from its database."""
    with tempfile.TemporaryDirectory() as directory:
        dags, port = Path(directory) / "dags", free_port()
        dags.mkdir()
        (dags / "bench.py").write_text(AIRFLOW_DAG)
        own = str(Path(sys.executable).parent)
        settings = {
            "AIRFLOW_HOME": directory,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": str(AT_ONCE),
            "PATH": f"{own}:{os.environ['PATH']}",
        }
        program = f"{own}/airflow"

        def work(count: int) -> None:
            run = f"run-{time.time()}"
            words = [
                program,
                "dags",
                "trigger",
                "bench",
                "--run-id",
                run,
                "--conf",
                json.dumps({"count": count}),
            ]
            while subprocess.run(words, env={**os.environ, **settings}, capture_output=True).returncode:
                time.sleep(1)  # the DAG is not read yet
            file = f"file:{directory}/airflow.db?mode=ro"
            state = ""
            while state not in ("success", "failed"):
                time.sleep(0.2)
                with closing(sqlite3.connect(file, uri=True)) as database:
                    ask = "SELECT state FROM dag_run WHERE run_id = ?"
                    state = database.execute(ask, (run,)).fetchone()[0]
            assert state == "success", "a task failed"

        with process(program, "standalone", **settings):
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/version", timeout=5):
                        break
                except OSError:
                    time.sleep(0.2)
            yield work


def podman() -> Iterator[Work]:
    """Pods one after the other, as `kube play` takes one manifest: how long one takes."""
    with tempfile.TemporaryDirectory() as directory:
        root, image = Path(directory) / "root", "localhost/longshore-bench:1"
        (root / "bin").mkdir(parents=True)
        (root / "bin" / "true").write_bytes(Path("/bin/busybox").read_bytes())
        (root / "bin" / "true").chmod(0o755)
        packed = subprocess.run(["tar", "-C", str(root), "-c", "."], check=True, capture_output=True).stdout
        containers = [{"name": "main", "image": image, "command": [TRUE], "imagePullPolicy": "Never"}]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "longshore-bench"}}
        manifest = json.dumps({**pod, "spec": {"restartPolicy": "Never", "containers": containers}}).encode()

        def ask(*words: str, given: bytes = b"") -> str:
            """What podman complains of; empty when all went well."""
            done = subprocess.run(["podman", *words], input=given, capture_output=True)
            return done.stderr.decode().strip().replace("\n", " ") if done.returncode else ""

        def work(count: int) -> None:
            for _ in range(count):
                played = ask("kube", "play", "--replace", "-", given=manifest)
                if problem := played or ask("wait", "longshore-bench-main"):
                    raise SystemExit(problem)

        try:
            if problem := ask("import", "-q", "-", image, given=packed):
                raise SystemExit(problem)
            yield work
        finally:
            ask("kube", "down", "-", given=manifest)
            ask("rmi", image)


TOOLS: dict[str, Callable[[], Iterator[Work]]] = {
    "longshore": longshore,
    "xargs": xargs,
    "parallel": parallel,
    "make": make,
    "task-spooler": task_spooler,
    "celery": celery,
    "rq": rq,
    "dask": dask,
    "ray": ray,
    "prefect": prefect,
    "airflow": airflow,
    "podman": podman,
}


def main(tool: str, count: int) -> None:
    with contextmanager(TOOLS[tool])() as work:
        work(1)
        first = time.time()
        work(count)
        print(json.dumps({"first": first, "ended": time.time()}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "celery-worker":
        celery_worker(sys.argv[2])
    else:
        main(sys.argv[1], int(sys.argv[2]))
