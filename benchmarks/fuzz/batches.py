"""Many inputs in one run, each as its own cluster, together with undamaged stories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.fuzz import laws
from benchmarks.fuzz.model import Find, Input
from benchmarks.fuzz.snippets import Calls, workplace
from benchmarks.fuzz.stories import KEPT, interleaved, shared_log, short_stories
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import Analysis, analyze_with_events
from rebalance_forensics.pipeline.schemas import rows_of
from rebalance_forensics.report.json_report import to_json

OPTIONS = AnalyzeOptions(engine="local", cluster_per_directory=True)
UNTOUCHED = short_stories()
_SHARED = "untouched-shared"
Found = dict[int, list[Find]]


def write(files: Mapping[str, bytes], links: Mapping[str, str], directory: Path) -> None:
    """Write files and links to a directory."""
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name, target in links.items():
        path = directory / name
        if not path.is_symlink() and not path.exists():
            path.symlink_to(target)


def analyzed(directory: Path) -> Analysis:
    """Analyze everything in a directory."""
    return analyze_with_events([str(directory)], OPTIONS, keep_events=True)


@cache
def alone(cluster: str) -> dict[str, Any]:
    """The report on an undamaged story without other logs."""
    with workplace() as place:
        write(UNTOUCHED[cluster], {}, Path(place) / cluster)
        return laws.part_of(json.loads(to_json(analyzed(Path(place)).report)), cluster)


@cache
def kept_alone() -> str:
    """The report on the undamaged group of a log that another undamaged group shares."""
    with workplace() as place:
        write({"broker-1/server.log": interleaved(*shared_log())}, {}, Path(place) / _SHARED)
        return laws.said_of(json.loads(to_json(analyzed(Path(place)).report)), _SHARED, KEPT).replace(_SHARED, "")


def finds(inputs: Mapping[int, Input], *, twice: bool = False, watched: bool = False) -> Found:
    """The laws that each input breaks, by number. An input that ends the whole run is found by bisection."""
    found: Found = {}
    with workplace() as place:
        root = Path(place)
        for cluster, files in UNTOUCHED.items():
            write(files, {}, root / cluster)
        for number, one in inputs.items():
            write(one.files, one.links, root / _cluster(number))
        try:
            analysis, calls = _watched(root) if watched else (analyzed(root), None)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is a find
            return _sought(inputs, error, twice=twice, watched=watched)
        if calls is not None:
            size = sum(one.size for one in inputs.values()) + sum(map(len, _untouched_bytes()))
            for find in calls.finds(size):
                found.setdefault(min(inputs), []).append(find)
        text = to_json(analysis.report)
        for number, find in _broken_laws(inputs, analysis, json.loads(text)):
            found.setdefault(number, []).append(find)
        if twice and to_json(analyzed(root).report) != text:
            again = Find(law="the same input says the same", sign="report", detail="another report the second time")
            found.setdefault(min(inputs), []).append(again)
        for number, one in inputs.items():
            if one.whole or len(inputs) == 1:
                found.setdefault(number, []).extend(_outputs(root, number))
    return {number: detail for number, detail in found.items() if detail}


def _watched(root: Path) -> tuple[Analysis, Calls]:
    """A run with its calls counted, after a warm-up."""
    alone(next(iter(UNTOUCHED)))
    with Calls() as calls:
        return analyzed(root), calls


def _cluster(number: int) -> str:
    return f"i{number}"


def _untouched_bytes() -> Iterator[bytes]:
    return (data for files in UNTOUCHED.values() for data in files.values())


def _sought(inputs: Mapping[int, Input], error: Exception, *, twice: bool, watched: bool) -> Found:
    """The inputs that end a run."""
    if len(inputs) == 1:
        return {number: [laws.broken(error)] for number in inputs}
    items = list(inputs.items())
    found: Found = {}
    for half in (items[: len(items) // 2], items[len(items) // 2 :]):
        found |= finds(dict(half), twice=twice, watched=watched)
    return found or {items[0][0]: [laws.broken(error, "only together do these inputs end the run")]}


def _outputs(root: Path, number: int) -> list[Find]:
    """Check the outputs of a run over this input alone, with a story in case that it has no Kafka lines left."""
    for other in root.iterdir():
        if other.name != _cluster(number) and other.name not in list(UNTOUCHED)[:1]:
            shutil.move(other, root.with_name(f"{root.name}-aside-{other.name}"))
    try:
        return list(laws.outputs(analyzed(root).report))
    finally:
        for aside in root.parent.glob(f"{root.name}-aside-*"):
            shutil.move(aside, root / aside.name.removeprefix(f"{root.name}-aside-"))


def _broken_laws(inputs: Mapping[int, Input], analysis: Analysis, report: dict[str, Any]) -> Iterator[tuple[int, Find]]:
    """Check all laws on the report of a run."""
    anybody = min(inputs)
    yield from _in_rows(inputs, analysis, anybody)
    for path, find in laws.complaints(analysis.report.inputs, analysis.report):
        yield _number(path, anybody), find
    for cluster in UNTOUCHED:
        if (now := laws.part_of(report, cluster)) != alone(cluster):
            detail = f"{json.dumps(alone(cluster))}\nbecame\n{json.dumps(now)}"
            yield anybody, Find(law="a damaged neighbour changes nothing", sign=cluster, detail=detail)
    for number, one in inputs.items():
        if one.kept:
            said = laws.said_of(report, _cluster(number), KEPT).replace(f'"{_cluster(number)}"', '""')
            if said != kept_alone():
                detail = f"{kept_alone()}\nbecame\n{said}"
                yield number, Find(law="another group's lines change nothing", sign="shared log", detail=detail)


def _in_rows(inputs: Mapping[int, Input], analysis: Analysis, anybody: int) -> Iterator[tuple[int, Find]]:
    """Groups whose investigation failed, event texts that are not in the input, bytes that were not counted."""
    evidence_types = dict(zip((file.path for file in analysis.plan.files), analysis.plan.profiles, strict=True))
    plain = {
        file.path: Path(file.location)
        for file in analysis.plan.files
        if not file.codec and not file.members and inputs[_number(file.path, anybody)].kind not in _MOVED
    }
    for failure in analysis.failures:
        yield _number(failure.cluster, anybody), laws.isolated(failure)
    for batch in analysis.events.to_batches():
        for row in rows_of(batch):
            if row.path in plain:
                is_document = evidence_types[row.path].document is not None
                if find := laws.in_place(row, plain[row.path].read_bytes(), document=is_document):
                    yield _number(row.path, anybody), find
    for summary in analysis.report.inputs:
        if summary.path in plain and summary.lines and evidence_types[summary.path].document is None:
            data = plain[summary.path].read_bytes()
            yield from ((_number(summary.path, anybody), find) for find in laws.counted(summary, data))


_MOVED = frozenset({"layout", "archives"})
"""Kinds of damage after which a record may be in two files, or in none unchanged."""


def _number(path: str, otherwise: int) -> int:
    """The number of the input that a path belongs to."""
    head = path.partition("/")[0].partition("!")[0]
    return int(head[1:]) if head[:1] == "i" and head[1:].isdigit() else otherwise
