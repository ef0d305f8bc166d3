"""A DAG as people write it: a Job extracts, a pod loads what it found, and hands on how much it was."""

from __future__ import annotations

from airflow.providers.cncf.kubernetes.operators.job import KubernetesJobOperator
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG

LOAD = "mkdir -p /airflow/xcom && echo '{\"rows\": 42}' > /airflow/xcom/return.json"

with DAG(dag_id="nightly", schedule=None):
    extract = KubernetesJobOperator(
        task_id="extract",
        name="extract",
        namespace="default",
        image="example.org/extract",
        cmds=["sh", "-c", "echo extracted"],
        backoff_limit=2,
        wait_until_job_complete=True,
        job_poll_interval=0.5,
    )
    load = KubernetesPodOperator(
        task_id="load",
        name="load",
        namespace="default",
        image="example.org/load",
        cmds=["sh", "-c", LOAD],
        do_xcom_push=True,
    )
    extract >> load
