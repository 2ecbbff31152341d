"""The files in deploy/ fit the product and the systems they are for, as far as that shows without these systems."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
import yaml

from rebalance_forensics.job.arguments import parse
from tests.conftest import ROOT
from tests.job.conftest import Run, rows
from tests.job.sparks import spark_home
from tests.job.test_zipped_package import zipped

DEPLOY = ROOT / "deploy"
LOADS_DAGS = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
print(bag.import_errors, list(bag.dags), [task.task_id for dag in bag.dags.values() for task in dag.tasks])
"""


def settings_of(arguments: Sequence[str], tmp_path: Path) -> None:
    """The job takes these arguments; a settings file is looked for in deploy/."""
    config = str(DEPLOY / "job.toml")
    given = [config if a.endswith("job.toml") else "2026-01-01" if "{{" in a else a for a in arguments]
    asked = parse(given)
    assert asked.options.inputs
    assert tmp_path.is_dir()


def test_kubernetes_knows_every_field() -> None:
    schema = json.loads((Path(__file__).parent / "schemas" / "scheduled-spark-application.json").read_text())
    manifest = yaml.safe_load((DEPLOY / "kubernetes" / "scheduled.yaml").read_text())
    jsonschema.Draft202012Validator(schema).validate(manifest)
    manifest["spec"]["template"]["driver"]["memroy"] = "2g"
    assert not jsonschema.Draft202012Validator(schema).is_valid(manifest)


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


def test_emr_knows_every_field() -> None:
    """By the model of the service that its own client checks requests with."""
    session = pytest.importorskip("botocore.session").get_session()
    validate = pytest.importorskip("botocore.validate").ParamValidator().validate
    request = json.loads((DEPLOY / "emr-serverless" / "start-job-run.json").read_text())
    whole = {
        **request,
        "applicationId": "00f",
        "executionRoleArn": f"arn:aws:iam::{'1' * 12}:role/job",
        "clientToken": "t",
    }
    shape = session.get_service_model("emr-serverless").operation_model("StartJobRun").input_shape
    assert validate(whole, shape).generate_report() == ""
    assert "Unknown parameter" in validate({**whole, "jobDrivers": {}}, shape).generate_report()


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


@pytest.mark.long
def test_airflow_loads_the_dag(tmp_path: Path) -> None:
    python = os.environ.get("AIRFLOW_PYTHON")
    if not python:
        pytest.skip("AIRFLOW_PYTHON names no Python with apache-airflow and its provider for Spark")
    done = subprocess.run(
        [python, "-c", LOADS_DAGS, DEPLOY / "airflow"],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "{} ['rebalance_forensics'] ['job']", done.stderr


def test_the_shell_script_is_one() -> None:
    subprocess.run(["sh", "-n", DEPLOY / "spark-submit.sh"], check=True)


@pytest.mark.spark
@pytest.mark.long
def test_the_shell_script_submits_the_wheel(run: Run, logs: Path, tmp_path: Path) -> None:
    wheel = zipped(tmp_path / "rebalance_forensics-0.1.0-py3-none-any.whl")
    given = ["--input", str(logs), "--output", str(tmp_path / "submitted"), "--since", "2026-03-01"]
    home = spark_home()
    environment = {**os.environ, "SPARK_SUBMIT": str(home / "bin" / "spark-submit"), "SPARK_HOME": str(home)}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": ""}
    done = subprocess.run(
        ["sh", DEPLOY / "spark-submit.sh", wheel, *given, "--until", "2026-03-04"],
        env=environment, capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    run("2026-03-01", "2026-03-04")
    assert rows(tmp_path / "submitted") == rows(tmp_path / "tables")


@pytest.mark.parametrize(
    ("linter", "file"),
    [
        *(("hadolint", "Dockerfile"), ("hadolint", "cli/Dockerfile")),
        *(("shellcheck", "spark-submit.sh"), ("shellcheck", "github/analyze.sh")),
    ],
)
def test_a_linter_has_nothing_to_say(linter: str, file: str) -> None:
    program = shutil.which(linter) or shutil.which(linter, path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"{linter} is not installed")
    done = subprocess.run([program, DEPLOY / file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("file", ["Dockerfile", "cli/Dockerfile"])
def test_the_image_is_built_from_what_is_there(file: str) -> None:
    lines = (DEPLOY / file).read_text().splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from=" not in line]
    copied = [source for sources in copies for source in sources]
    assert all((ROOT / source).exists() for source in copied)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]
    wheel, hook = build["build"]["targets"]["wheel"], build["metadata"]["hooks"]["custom"]
    assert {*wheel["packages"], *wheel["force-include"], hook.get("path", "hatch_build.py")} <= {*copied}


@pytest.mark.long
def test_what_the_image_gets_is_enough_for_the_wheel(tmp_path: Path) -> None:
    for line in (DEPLOY / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY ") and "/src" in line:
            for source in line.split()[1:-1]:
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy2
                copy(ROOT / source, tmp_path / source)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(tmp_path),
    ]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert any(name.startswith("rebalance_forensics/catalog/_shipped/") for name in packed.namelist())


def test_the_image_holds_what_kubernetes_starts() -> None:
    spec = yaml.safe_load((DEPLOY / "kubernetes" / "scheduled.yaml").read_text())["spec"]["template"]
    image = (DEPLOY / "Dockerfile").read_text()
    assert spec["mainApplicationFile"].removeprefix("local://") in image
    assert f"FROM apache/spark:{spec['sparkVersion']}-" in image
