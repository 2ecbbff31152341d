"""Analyze the logs of each hour. Airflow can backfill hours, because runs may be in any order."""

from datetime import UTC, datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

with DAG(
    dag_id="rebalance_forensics",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=timedelta(hours=1),
    catchup=True,
    max_active_runs=1,
) as dag:
    SparkSubmitOperator(
        task_id="job",
        application="/opt/rebalance-forensics/run_job.py",
        py_files="/opt/rebalance-forensics/rebalance_forensics.zip",
        conf={"spark.sql.session.timeZone": "UTC"},
        application_args=[
            "--config",
            "/opt/rebalance-forensics/job.toml",
            "--since",
            "{{ data_interval_start | ts }}",
            "--until",
            "{{ data_interval_end | ts }}",
        ],
    )
