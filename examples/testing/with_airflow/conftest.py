"""An Airflow of the tests' own: a home that goes with them, the folder of these DAGs, an empty database."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HOME = tempfile.TemporaryDirectory(prefix="airflow-")
# Airflow reads these when it is imported.
os.environ |= {
    "AIRFLOW_HOME": HOME.name,
    "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parent / "dags"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
}


@pytest.fixture(scope="session")
def nightly() -> Iterator[Any]:
    """The DAG under test."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb

    initdb()
    yield DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]).get_dag("nightly")
    HOME.cleanup()
