"""The report does not depend on the order, the duplication or the cutting of its files."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.json_report import to_json
from tests.conftest import SAMPLES

LOCAL = AnalyzeOptions(engine="local")
SAMPLE = SAMPLES / "slow-processing"
FILES = tuple(sorted(str(p.relative_to(SAMPLE)) for p in SAMPLE.rglob("*.log")))
PLACES = {"path", "line", "byte_offset", "id", "evidence_total"}
"""Where a line stands; an id is a hash of the first evidence, its file name included."""

few = settings(
    max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@cache
def content(name: str) -> bytes:
    return (SAMPLE / name).read_bytes()


@contextmanager
def logs(files: dict[str, bytes]) -> Iterator[Path]:
    """A directory that holds these files."""
    with tempfile.TemporaryDirectory() as directory:
        for name, data in files.items():
            path = Path(directory) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        yield Path(directory)


def without_places(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """What a report says, but not where it read it."""
    if isinstance(value, dict):
        return {k: without_places(v) for k, v in value.items() if k not in PLACES}
    if isinstance(value, list):
        return [without_places(v) for v in value]
    return value


def groups_and_incidents(paths: list[Path]) -> dict[str, Any]:
    """The groups and the incidents of a report, without file names."""
    report = json.loads(to_json(analyze([str(path) for path in paths], LOCAL)))
    groups = [
        {k: without_places(group[k]) for k in ("group", "kind", "protocol", "coordinators", "generations", "pauses")}
        for group in report["groups"]
    ]
    incidents = [
        {
            k: without_places(i[k])
            for k in ("group", "started_at", "ended_at", "severity", "followups", "generations", "impact")
        }
        | {"causes": [(c["cause"], c["confidence"], [x["name"] for x in c["culprits"]]) for c in i["root_causes"]]}
        | {"proof": sorted(e["text"] for c in i["root_causes"] for e in c["evidence"])}
        for i in report["incidents"]
    ]
    return {"groups": groups, "incidents": incidents}


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """What the sample says as it lies there."""
    return groups_and_incidents([SAMPLE])


@few
@given(order=st.permutations(FILES))
def test_the_order_of_the_files_does_not_matter(whole: dict[str, Any], order: list[str]) -> None:
    with logs({name: content(name) for name in FILES}) as directory:
        assert groups_and_incidents([directory / name for name in order]) == whole


@few
@given(twice=st.sets(st.sampled_from(FILES), min_size=1))
def test_a_file_that_lies_there_twice_adds_nothing(whole: dict[str, Any], twice: set[str]) -> None:
    files = {name: content(name) for name in FILES}
    copies = {str(Path(name).with_name("copy-of-" + Path(name).name)): content(name) for name in twice}
    with logs(files | copies) as directory:
        assert groups_and_incidents([directory]) == whole


@few
@given(name=st.sampled_from(FILES), where=st.floats(0.3, 1))
def test_a_record_that_was_written_twice_counts_once(whole: dict[str, Any], name: str, where: float) -> None:
    lines = content(name).splitlines(keepends=True)
    heads = [n for n, line in enumerate(lines) if line[:3] in (b"202", b"[20")]
    single = [n for n, after in pairwise(heads) if after == n + 1]
    at = single[min(int(where * len(single)), len(single) - 1)]
    doubled = b"".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])
    with logs({n: content(n) for n in FILES} | {name: doubled}) as directory:
        assert groups_and_incidents([directory]) == whole


@few
@given(name=st.sampled_from(FILES), cuts=st.lists(st.floats(0, 1), min_size=1, max_size=3), packed=st.booleans())
def test_a_file_that_was_rotated_anywhere_reads_as_one(
    whole: dict[str, Any], name: str, cuts: list[float], *, packed: bool
) -> None:
    data = content(name)
    ends = sorted({_line_end(data, cut) for cut in cuts} | {len(data)})
    parts = [data[a:b] for a, b in pairwise([0, *ends]) if a < b]
    stem = name.removesuffix(".log")
    files = {n: content(n) for n in FILES if n != name} | {name: parts[-1]}
    for age, part in enumerate(reversed(parts[:-1]), 1):
        files[f"{stem}.{age}.log" + (".gz" if packed else "")] = gzip.compress(part) if packed else part
    with logs(files) as directory:
        assert groups_and_incidents([directory]) == whole


def _line_end(data: bytes, cut: float) -> int:
    """The end of the line in which a cut falls: what rotates logs writes whole lines."""
    found = data.find(b"\n", int(cut * (len(data) - 1)))
    return len(data) if found < 0 else found + 1
