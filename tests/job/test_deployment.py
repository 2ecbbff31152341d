"""The files in deploy/ fit the product and the systems they are for, as far as that shows without these systems."""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import yaml

from rebalance_forensics.job.arguments import parse
from tests.conftest import ROOT

DEPLOY = ROOT / "deploy"


def settings_of(arguments: Sequence[str], tmp_path: Path) -> None:
    """The job takes these arguments; a settings file is looked for in deploy/."""
    config = str(DEPLOY / "job.toml")
    given = [config if a.endswith("job.toml") else "2026-01-01" if "{{" in a else a for a in arguments]
    asked = parse(given)
    assert asked.options.inputs
    assert tmp_path.is_dir()


def test_kubernetes_passes_arguments_the_job_takes(tmp_path: Path) -> None:
    spec = yaml.safe_load((DEPLOY / "kubernetes" / "scheduled.yaml").read_text())
    assert (spec["apiVersion"], spec["kind"]) == ("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication")
    assert spec["spec"]["concurrencyPolicy"] == "Forbid"
    settings_of(spec["spec"]["template"]["arguments"], tmp_path)


def test_databricks_calls_the_console_script(tmp_path: Path) -> None:
    bundle = yaml.safe_load((DEPLOY / "databricks" / "databricks.yml").read_text())
    (task,) = bundle["resources"]["jobs"]["rebalance_forensics"]["tasks"]
    wheel = task["python_wheel_task"]
    assert f"{wheel['entry_point']} = " in (ROOT / "pyproject.toml").read_text()
    name, *arguments = wheel["parameters"]
    assert name == "job"
    settings_of(arguments, tmp_path)


def test_emr_passes_arguments_the_job_takes(tmp_path: Path) -> None:
    run = json.loads((DEPLOY / "emr-serverless" / "start-job-run.json").read_text())["jobDriver"]["sparkSubmit"]
    settings_of(run["entryPointArguments"], tmp_path)
    assert "--master" not in shlex.split(run["sparkSubmitParameters"])


def test_airflow_passes_its_interval(tmp_path: Path) -> None:
    tree = ast.parse((DEPLOY / "airflow" / "rebalance_forensics_dag.py").read_text())
    lists = [
        [ast.literal_eval(one) for one in keyword.value.elts]
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "application_args" and isinstance(keyword.value, ast.List)
    ]
    settings_of(lists[0], tmp_path)
    assert "{{ data_interval_start | ts }}" in lists[0]


def test_the_shell_script_is_one() -> None:
    subprocess.run(["sh", "-n", DEPLOY / "spark-submit.sh"], check=True)


def test_the_image_holds_what_kubernetes_starts() -> None:
    spec = yaml.safe_load((DEPLOY / "kubernetes" / "scheduled.yaml").read_text())["spec"]["template"]
    image = (DEPLOY / "Dockerfile").read_text()
    assert spec["mainApplicationFile"].removeprefix("local://") in image
    assert f"FROM apache/spark:{spec['sparkVersion']}-" in image
