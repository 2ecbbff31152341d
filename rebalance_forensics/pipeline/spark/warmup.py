"""`warmup`: archives the JVM's classes and compiles the catalog, for a faster start."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.pipeline.options import AnalyzeOptions, Wanted
from rebalance_forensics.pipeline.read_plan import plan_reading
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.class_archives import Archive, archive_for
from rebalance_forensics.pipeline.spark.java import Java, find_java
from rebalance_forensics.pipeline.spark.jvm_launch import Booting, command_line, launch
from rebalance_forensics.pipeline.workload import shard_keys
from rebalance_forensics.process.resources import cores

LINES = """\
[2026-03-01 10:00:00,000] INFO [GroupCoordinator 1]: Stabilized group payments generation 1 \
(__consumer_offsets-3) with 1 members (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:05:00,000] INFO [GroupCoordinator 1]: Member c-1-77aa in group payments has failed, removing it \
from the group (kafka.coordinator.group.GroupCoordinator)
"""
"""A log for which Spark loads every class that an analysis needs."""


def warm_up(java_home: str | None) -> Iterator[str]:
    """Compile the catalog and archive the classes; yields a sentence for each."""
    catalog_of(()).prefilter()
    yield "catalog: compiled"
    java = find_java(java_home)
    archive, started = archive_for(java), time.monotonic()
    archive.path.parent.mkdir(parents=True, exist_ok=True)
    archive.path.unlink(missing_ok=True)
    log = _run_once(java, archive)
    if archive.dumping:
        # The training run only listed the classes.
        command = command_line(java, archive.dumping)
        subprocess.run(command, check=False, capture_output=True, timeout=300)  # noqa: S603 - the Java that was checked
    if not archive.path.is_file():
        raise InputError(f"Java {java.release} at {java.executable} wrote no archive of its classes: {_last(log)}.")
    size = archive.path.stat().st_size >> 20
    yield f"classes: {size} MiB archived for Java {java.release} in {time.monotonic() - started:.0f} s ({archive.path})"


def _run_once(java: Java, archive: Archive) -> Path:
    # The training run: a JVM does what it will do in every run.
    from rebalance_forensics.pipeline.spark.engine import run_on_spark  # noqa: PLC0415
    from rebalance_forensics.pipeline.spark.session import jvm_options, session_on  # noqa: PLC0415 - loads Spark

    jvm: Booting = launch(java, (*jvm_options(small=True), *archive.training))
    session = session_on(jvm, cores())
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "server.log")
        log.write_text(LINES)
        plan = plan_reading([str(log)], AnalyzeOptions(), workers=1)
        shuffled = replace(plan, portions=plan.portions * 2, reading=replace(plan.reading, shards=shard_keys(2)))
        for each in (plan, shuffled):
            run_on_spark(session, each, Wanted(), progress=lambda _done, _total: None)
    session.stop()
    jvm.end()
    return jvm.log


def _last(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1].rstrip(".") if lines else "it said nothing"
