"""The cost from events to the report: starts with rows of events, without reading logs.

`python -m benchmarks.findings` makes many groups from the sample logs' events, with other names and times, and one hot
group by repeating a single story. Two processes investigate, like two cores on Spark.
"""

from __future__ import annotations

import argparse
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from benchmarks.measuring import ROOT, table
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import ReadPlan, plan_reading
from rebalance_forensics.pipeline.report_assembly import report_of
from rebalance_forensics.pipeline.results import results_of
from rebalance_forensics.pipeline.schemas import ROWS, Kind, Row, batch_of, rows_of
from rebalance_forensics.pipeline.stages import investigate_rows, read_portion
from rebalance_forensics.report.json_report import to_json

SAMPLES = ROOT / "sample_logs"
HOT = "slow-processing"
EVENTS_A_GROUP = 50
SHARDS = 2
GROUPS_A_HOST = 20
GROUPS_A_SHARED_EVENT = 0.2
TURN_US = 3_600_000_000
"""The hot group repeats its story every hour."""
HEADS = ("what", "events", "groups", "CPU s of the workers", "CPU s of the report", "s on two cores", "µs/event",
         "peak MiB of a worker", "of the report")  # fmt: skip
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_NUMBER = re.compile(r'"(generation|epoch)":(\d+)')


@dataclass(frozen=True, slots=True)
class Stock:
    """The events to copy: those of each group of the samples, and those without a group."""

    groups: tuple[tuple[Row, ...], ...]
    shared: tuple[Row, ...]


def read(directory: Path) -> tuple[ReadPlan, list[Row]]:
    """The read plan and the rows of events of a directory of logs."""
    plan = plan_reading([str(directory)], AnalyzeOptions(engine="local"), workers=1)
    rows = [row for portion in plan.portions for batch in read_portion(portion, plan.reading) for row in rows_of(batch)]
    return plan, sorted(rows, key=_order)


def stock_of(directories: Iterable[Path]) -> Stock:
    """The events of the samples."""
    groups: dict[tuple[Path, str | None], list[Row]] = {}
    shared = []
    for directory in directories:
        for row in read(directory)[1]:
            if row.kind == Kind.EVENT:
                groups.setdefault((directory, row.group), []).append(row)
            elif row.kind == Kind.SHARED:
                shared.append(row)
    return Stock(tuple(map(tuple, groups.values())), tuple(shared))


def many_groups(stock: Stock, groups: int, shared: int) -> list[list[Row]]:
    """The rows of each shard: `groups` groups of fifty events each, and `shared` events that are in every shard."""
    hosts = max(groups // GROUPS_A_HOST, 1)
    common = [_elsewhere(_later(stock.shared[n % len(stock.shared)], n), n % hosts) for n in range(shared)]
    shards: list[list[Row]] = [list(common) for _ in range(SHARDS)]
    for number in range(groups):
        of_group = stock.groups[number % len(stock.groups)]
        begin = number // len(stock.groups) * 7 % max(len(of_group) - EVENTS_A_GROUP + 1, 1)
        rows = shards[number % SHARDS]
        for turn in range(EVENTS_A_GROUP):
            row = of_group[(begin + turn) % len(of_group)]
            again = _repeated(row, (begin + turn) // len(of_group))
            rows.append(_elsewhere(again, number % hosts)._replace(group=f"team-{number:05}"))
    for rows in shards:
        rows.sort(key=_order)
    return shards


def hot_group(stock: Stock, events: int) -> list[list[Row]]:
    """The rows of one group that repeats its story with new members and higher generations."""
    of_group = max(stock.groups, key=len)
    turns = (_repeated(row, turn) for turn in range(events // len(of_group) + 1) for row in of_group)
    return [list(islice(turns, events))]


def _later(row: Row, number: int) -> Row:
    return row._replace(ts=(row.ts or 0) + number * 1_000, byte_offset=(row.byte_offset or 0) + number * 1_000)


def _repeated(row: Row, turn: int) -> Row:
    if not turn:
        return row
    payload = _UUID.sub(lambda m: f"{turn:08x}{m[1]}", row.payload)
    payload = _NUMBER.sub(lambda m: f'"{m[1]}":{int(m[2]) + turn * 1000}', payload)
    at = None if row.ts is None else row.ts + turn * TURN_US
    return row._replace(ts=at, byte_offset=(row.byte_offset or 0) + turn * 10_000_000, payload=payload)


def _elsewhere(row: Row, host: int) -> Row:
    """The row with its member moved to another host; brokers keep theirs."""
    if '"role":"broker"' in row.payload or row.path is None:
        return row
    path = f"host-{host}/{row.path}"
    payload = re.sub(r'"host":"[^"]*"', f'"host":"host-{host}"', row.payload)
    return row._replace(path=path, payload=payload.replace(f'"file":"{row.path}"', f'"file":"{path}"'))


def _order(row: Row) -> tuple[int, str, str, bool, int, str, int]:
    return (
        row.kind,
        row.cluster or "",
        row.group or "",
        row.ts is None,
        row.ts or 0,
        row.path or "",
        row.byte_offset or 0,
    )


def write(path: Path, rows: Sequence[Row]) -> Path:
    """Write the rows to a file that a worker reads in batches."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, ROWS) as file:
        for begin in range(0, len(rows), 4096):
            file.write(batch_of(list(rows[begin : begin + 4096])))
    return path


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def worker(path: Path) -> None:
    """The work of one core: turn rows of events into rows of cases."""
    with pa.OSFile(str(path.with_suffix(".cases")), "wb") as sink, pa.ipc.new_file(sink, ROWS) as file:
        for batch in investigate_rows(_batches(path)):
            file.write(batch)


def reporter(plan: Path, shards: Sequence[Path]) -> None:
    """The work of the driver: turn rows of cases into the report as JSON."""
    cases = (batch for path in shards for batch in _batches(path.with_suffix(".cases")))
    results = results_of(cases, first_shard=0)
    report = report_of(pickle.loads(plan.read_bytes()), results, AnalyzeOptions(engine="local"))  # noqa: S301 - our own
    print(len(to_json(report)), file=sys.stderr)


def run(directory: Path, what: str, shards: Sequence[Sequence[Row]], plan: ReadPlan) -> list[object]:
    """Measure one case; returns its row of the table."""
    files = [write(directory / f"shard-{n}.arrow", rows) for n, rows in enumerate(shards)]
    (directory / "plan").write_bytes(pickle.dumps(plan))
    events = sum(len(rows) for rows in shards)
    groups = len({row.group for rows in shards for row in rows if row.group is not None})
    started = time.perf_counter()
    workers = [_child("worker", file) for file in files]
    told = [_told(child) for child in workers]
    investigated = time.perf_counter() - started
    report = _told(_child("report", directory / "plan", *files))
    cpu = sum(seconds for seconds, _ in told)
    each = (cpu + report[0]) / events * 1e6
    return [what, events, groups, f"{cpu:.1f}", f"{report[0]:.1f}", f"{investigated + report[0]:.1f}", f"{each:.0f}",
            max(mib for _, mib in told), report[1]]  # fmt: skip


def _child(*arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.findings", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _told(child: subprocess.Popen[str]) -> tuple[float, int]:
    out, _ = child.communicate()
    if child.returncode:
        sys.exit(child.returncode)
    seconds, mib = out.split()
    return float(seconds), int(mib)


def measure(directory: Path, *, events: int) -> str:
    """Measure all cases; returns the table."""
    stock = stock_of(path for path in sorted(SAMPLES.iterdir()) if path.is_dir())
    plan, hot = read(SAMPLES / HOT)
    alone = Stock((tuple(row for row in hot if row.kind == Kind.EVENT),), ())
    rows = []
    for share in (4, 2, 1):
        groups = events // share // EVENTS_A_GROUP
        rows.append(run(directory, "many groups", many_groups(stock, groups, 0), plan))
    groups = events // 10 // EVENTS_A_GROUP
    rows.append(run(directory, "many groups, as many shared events", many_groups(stock, groups, events // 10), plan))
    rows += [run(directory, "one hot group", hot_group(alone, events // share), plan) for share in (40, 10, 1)]
    return "### Findings\n\n" + table(HEADS, rows)


def main() -> None:
    """Measure everything, or run as one of the measured processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("worker", "report"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.part is None:
        with tempfile.TemporaryDirectory() as directory:
            print(measure(Path(directory), events=arguments.events))
        return
    started = time.process_time()
    if arguments.part == "worker":
        worker(*arguments.files)
    else:
        reporter(arguments.files[0], arguments.files[1:])
    print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)


if __name__ == "__main__":
    main()
