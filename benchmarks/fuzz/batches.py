"""Many inputs in one run, each a cluster of its own, beside stories that nobody touched."""

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
    """Put files and links where a run finds them."""
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name, target in links.items():
        path = directory / name
        if not path.is_symlink() and not path.exists():
            path.symlink_to(target)


def analyzed(directory: Path) -> Analysis:
    """One run over everything below."""
    return analyze_with_events([str(directory)], OPTIONS, keep_events=True)


@cache
def alone(cluster: str) -> dict[str, Any]:
    """What is said of an untouched story that has no neighbours."""
    with workplace() as place:
        write(UNTOUCHED[cluster], {}, Path(place) / cluster)
        return laws.part_of(json.loads(to_json(analyzed(Path(place)).report)), cluster)


@cache
def kept_alone() -> str:
    """What is said of the untouched group beside an undamaged neighbour in one log."""
    with workplace() as place:
        write({"broker-1/server.log": interleaved(*shared_log())}, {}, Path(place) / _SHARED)
        return laws.said_of(json.loads(to_json(analyzed(Path(place)).report)), _SHARED, KEPT).replace(_SHARED, "")


def finds(inputs: Mapping[int, Input], *, twice: bool = False, watched: bool = False) -> Found:
    """By number, the laws that do not hold. What ends the whole run is sought among halves of the inputs."""
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
        for number, find in _told(inputs, analysis, json.loads(text)):
            found.setdefault(number, []).append(find)
        if twice and to_json(analyzed(root).report) != text:
            again = Find(law="the same input says the same", sign="report", told="another report the second time")
            found.setdefault(min(inputs), []).append(again)
        for number, one in inputs.items():
            if one.whole or len(inputs) == 1:
                found.setdefault(number, []).extend(_outputs(root, number))
    return {number: told for number, told in found.items() if told}


def _watched(root: Path) -> tuple[Analysis, Calls]:
    """A run with its calls counted; what is loaded once is loaded before."""
    alone(next(iter(UNTOUCHED)))
    with Calls() as calls:
        return analyzed(root), calls


def _cluster(number: int) -> str:
    return f"i{number}"


def _untouched_bytes() -> Iterator[bytes]:
    return (data for files in UNTOUCHED.values() for data in files.values())


def _sought(inputs: Mapping[int, Input], error: Exception, *, twice: bool, watched: bool) -> Found:
    """Which of the inputs end a run."""
    if len(inputs) == 1:
        return {number: [laws.broken(error)] for number in inputs}
    items = list(inputs.items())
    found: Found = {}
    for half in (items[: len(items) // 2], items[len(items) // 2 :]):
        found |= finds(dict(half), twice=twice, watched=watched)
    return found or {items[0][0]: [laws.broken(error, "only together do these inputs end the run")]}


def _outputs(root: Path, number: int) -> list[Find]:
    """The outputs of a run over this input alone, with a story that holds Kafka lines whatever became of its own."""
    for other in root.iterdir():
        if other.name != _cluster(number) and other.name not in list(UNTOUCHED)[:1]:
            shutil.move(other, root.with_name(f"{root.name}-aside-{other.name}"))
    try:
        return list(laws.outputs(analyzed(root).report))
    finally:
        for aside in root.parent.glob(f"{root.name}-aside-*"):
            shutil.move(aside, root / aside.name.removeprefix(f"{root.name}-aside-"))


def _told(inputs: Mapping[int, Input], analysis: Analysis, report: dict[str, Any]) -> Iterator[tuple[int, Find]]:
    """All laws on what one run says."""
    anybody = min(inputs)
    yield from _in_rows(inputs, analysis, anybody)
    for path, find in laws.complaints(analysis.report.inputs, analysis.report):
        yield _number(path, anybody), find
    for cluster in UNTOUCHED:
        if (now := laws.part_of(report, cluster)) != alone(cluster):
            told = f"{json.dumps(alone(cluster))}\nbecame\n{json.dumps(now)}"
            yield anybody, Find(law="a damaged neighbour changes nothing", sign=cluster, told=told)
    for number, one in inputs.items():
        if one.kept:
            said = laws.said_of(report, _cluster(number), KEPT).replace(f'"{_cluster(number)}"', '""')
            if said != kept_alone():
                told = f"{kept_alone()}\nbecame\n{said}"
                yield number, Find(law="another group's lines change nothing", sign="shared log", told=told)


def _in_rows(inputs: Mapping[int, Input], analysis: Analysis, anybody: int) -> Iterator[tuple[int, Find]]:
    """Groups that broke off, texts that stand nowhere, bytes that nobody counted."""
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
"""Kinds whose records may stand in two files, or in none as they are."""


def _number(path: str, otherwise: int) -> int:
    """Whose path that is."""
    head = path.partition("/")[0].partition("!")[0]
    return int(head[1:]) if head[:1] == "i" and head[1:].isdigit() else otherwise
