"""Spark as clusters have it: other releases than the installed one, started by spark-submit, with packages."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pyspark
import pytest

from tests.conftest import ROOT

DOWNLOADED = Path(os.environ.get("SPARKS", Path(tempfile.gettempdir()) / "rebalance-forensics-sparks"))
SMALL = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    # A query of some rows is run sooner than compiled.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def spark_home(release: str | None = None) -> Path:
    """Where a release of Spark is; the tests that want another one than the installed fetch it once."""
    if release is None or release == pyspark.__version__:
        found = find_spec("pyspark")
        assert found
        assert found.origin
        return Path(found.origin).parent
    home = DOWNLOADED / release / "pyspark"
    if not (home / "bin" / "spark-submit").is_file():
        target = str(home.parent)
        fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--target", target, f"pyspark=={release}"]
        done = subprocess.run(fetch, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Spark {release} cannot be fetched here")
    return home


def submit(
    program: Path, *arguments: str, release: str | None = None, packages: Sequence[str] = (), master: str = "local[2]",
    settings: Mapping[str, str] | None = None, files: Sequence[Path] = (), source: Path | None = ROOT,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a program under spark-submit; without `source` Python only knows what `files` (--py-files) bring."""
    home = spark_home(release)
    options = [part for name, value in {**SMALL, **(settings or {})}.items() for part in ("--conf", f"{name}={value}")]
    options += ["--packages", ",".join(packages)] if packages else []
    options += ["--py-files", ",".join(map(str, files))] if files else []
    path = [str(home.parent), *([str(source)] if source else [])]
    done = subprocess.run(
        [home / "bin" / "spark-submit", "--master", master, *options, program, *arguments],
        env={**os.environ, "SPARK_HOME": str(home), "PYTHONPATH": ":".join(path), "PYSPARK_PYTHON": sys.executable,
             "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True, text=True, check=False, timeout=900, cwd=program.parent,
    )  # fmt: skip
    if "unresolved dependency" in done.stderr:
        pytest.skip(f"{', '.join(packages)} cannot be fetched here")
    return done
