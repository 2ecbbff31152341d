"""`doctor`: checks the installation for what a run needs and what would speed it up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.class_archives import archive_for
from rebalance_forensics.pipeline.spark.java import find_java


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The finding for one part of the installation; Spark cannot run without the parts that are `needed`."""

    part: str
    finding: str
    well: bool
    needed: bool = False


def examine(java_home: str | None = None) -> Sequence[Check]:
    """Check everything a run depends on, without starting Java or Spark."""
    return [
        *_java(java_home),
        _package("pyspark", needed=True),
        *(_package(name) for name in ("pyarrow", "pandas", "regex", "google-re2")),
        _accelerator("hyperscan", "scans bytes for telling lines", "a slower scan in Python does it"),
        _accelerator("isal", "unpacks gzip", "Python's own zlib does it, at a third of the speed"),
    ]


def _java(java_home: str | None) -> Iterator[Check]:
    try:
        java = find_java(java_home)
    except InputError as refusal:
        yield Check(part="Java", finding=str(refusal), well=False, needed=True)
        return
    yield Check(part="Java", finding=f"{java.release} at {java.executable} ({java.source})", well=True, needed=True)
    with suppress(InputError):  # without PySpark there is nothing to archive
        archive = archive_for(java).path
        kept = archive.is_file()
        finding = f"archived in {archive}" if kept else "not archived; rebalance-forensics warmup halves the start"
        yield Check(part="class archive", finding=finding, well=kept)


def _package(name: str, *, needed: bool = False) -> Check:
    try:
        return Check(part=name, finding=version(name), well=True, needed=needed)
    except PackageNotFoundError:
        return Check(part=name, finding=f"missing; pip install {name}", well=False, needed=needed)


def _accelerator(name: str, does: str, otherwise: str) -> Check:
    if find_spec(name) is None:
        return Check(
            part=name, finding=f"missing: {otherwise}; pip install 'rebalance-forensics[fast]' brings it", well=False
        )
    return Check(part=name, finding=f"{_package(name).finding}, {does}", well=True)
