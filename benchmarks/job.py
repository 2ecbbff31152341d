"""The cost of a run of the job: by size, from a directory and an S3 server, without new lines, and by executors.

    python -m benchmarks.job [--mib 256] [--only disk s3 growth files executors groups hourly]

Prints rows of a table. Needs versitygw on the PATH (or in ~/go/bin) for the part about S3.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from deltalake import DeltaTable

from benchmarks.cluster_logs import write_broker, write_coordinator
from benchmarks.generate import generate
from benchmarks.growth_logs import HOUR, evicted
from benchmarks.measuring import ROOT, family, python_kib, table
from rebalance_forensics.job import main as job

PORT = 17171
SOON_OVER = {
    "delta.deletedFileRetentionDuration": "interval 24 seconds",
    "delta.logRetentionDuration": f"interval {7 * 24} seconds",
}
GATEWAY = shutil.which("versitygw") or shutil.which("versitygw", path=str(Path.home() / "go" / "bin"))
INTERVAL = ("--since", "2026-01-01", "--until", "2027-01-01")
HEAD = """\
| | wall | CPU | MB a CPU second | bytes | files | events | incidents | peak |
|---|---|---|---|---|---|---|---|---|"""


def run(what: str, source: str, output: str, *more: str) -> None:
    """Run the job in a separate process; prints wall and CPU time, throughput and counts."""
    command = [sys.executable, "-m", "rebalance_forensics.job", "--engine", "local", *INTERVAL, *more]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, summary = _timed([*command, "--input", source, "--output", output])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rate = f"{summary['bytes'] / cpu / 1e6:.0f}" if summary["bytes"] else "-"
    _row(what, f"{seconds:.1f} s", f"{cpu:.1f} s", rate, summary, f"{after.ru_maxrss >> 10} MiB")


def submitted(what: str, source: str, output: str, master: str) -> None:
    """Run the job on separate executors, whose CPU time cannot be measured."""
    seconds, summary = _timed(_submission(source, output, master))
    _row(what, f"{seconds:.1f} s", "-", "-", summary, "-")


def _submission(source: str, output: str, master: str, conf: Sequence[str] = (), more: Sequence[str] = ()) -> list[str]:
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    home = Path(found.origin).parent
    os.environ |= {"SPARK_HOME": str(home), "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    settings = [part for each in ("spark.ui.enabled=false", *conf) for part in ("--conf", each)]
    command = [str(home / "bin" / "spark-submit"), "--master", master, *settings]
    return [*command, str(ROOT / "deploy" / "run_job.py"), *INTERVAL, *more, "--input", source, "--output", output]


def _timed(command: Sequence[str]) -> tuple[float, dict[str, int]]:
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, json.loads(done.stdout.splitlines()[-1])


def _row(what: str, seconds: str, cpu: str, rate: str, summary: dict[str, int], peak: str) -> None:
    cells = [what, seconds, cpu, rate, f"{summary['bytes'] >> 20} MiB", f"{summary['scanned']} of {summary['listed']}"]
    print("|", " | ".join([*cells, str(summary["events"]), str(summary["incidents"]), peak]), "|", flush=True)


def from_disk(logs: Path, tables: Path) -> None:
    """A run over all logs, then a run without new lines."""
    run("from disk", str(logs), str(tables / "disk"))
    run("nothing new", str(logs), str(tables / "disk"))


def from_s3(logs: Path, tables: Path) -> None:
    """The runs of `from_disk` through an S3 server."""
    if GATEWAY is None:
        print("versitygw is not installed: nothing is measured from S3")
        return
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    command = [GATEWAY, "--access", "key", "--secret", "secret", "--port", f"127.0.0.1:{PORT}", "posix"]
    (tables / "meta").mkdir(parents=True)
    # Buckets are the directories directly below the gateway's root.
    bucket = f"s3://{logs.parent.name}"
    with subprocess.Popen(
        [*command, "--sidecar", str(tables / "meta"), str(logs.parents[1])],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        time.sleep(2)
        run("from S3", f"{bucket}/{logs.name}", f"{bucket}/tables")
        run("nothing new in S3", f"{bucket}/{logs.name}", f"{bucket}/tables")
        server.terminate()


def grown(logs: Path, tables: Path) -> None:
    """A run over a log of which most lines have been read."""
    live = logs / "broker-0" / "server.log"
    whole = live.read_bytes()
    os.truncate(live, whole.rindex(b"\n", 0, len(whole) - (1 << 20)) + 1)
    run("before it grows", str(logs), str(tables / "grown"))
    live.write_bytes(whole)
    run("one log has 1 MiB more", str(logs), str(tables / "grown"))


def many_files(logs: Path, tables: Path, number: int = 20_000) -> None:
    """A run over small files, as short-lived pods write them."""
    small = tables / "small"
    lines = (logs / "broker-1" / "server.log").read_bytes().splitlines(keepends=True)
    for index in range(number):
        path = small / f"host-{index % 500}" / f"server.{index}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines[10 * index : 10 * index + 10]))
    run(f"{number} small files", str(small), str(tables / "many"))
    run("the same, nothing new", str(small), str(tables / "many"))


def on_executors(logs: Path, tables: Path) -> None:
    """Runs on one and on two executors of one core each."""
    for executors in (1, 2):
        master = f"local-cluster[{executors},1,1024]"
        submitted(f"{executors} executor(s), one core each", str(logs), str(tables / master), master)


def of_many_groups(_: Path, tables: Path) -> None:
    """Most events name no group, and all groups have incidents: prints stages, memory and shuffled rows per event."""
    did = ("groups", "events", "incidents", "scan", "deal", "investigate", "explain", "write findings")
    took = ("driver's Python", "a worker", "rows shuffled an event", "shuffled", "load")
    print(table((*did, *took), []), end="", flush=True)
    for groups, write in ((1_651, partial(write_broker, mib=64)), (20_000, partial(write_coordinator, others=50_000))):
        place = tables / str(groups)
        log, spark = place / "logs" / "broker-1" / "server.log", place / "spark"
        log.parent.mkdir(parents=True)
        spark.mkdir()
        write(log, groups=groups)
        conf = ("spark.eventLog.enabled=true", "spark.eventLog.compress=false", f"spark.eventLog.dir=file://{spark}")
        more = ("--metrics", str(place / "metrics"))
        command = _submission(str(log.parents[1]), str(place / "tables"), "local-cluster[2,1,1024]", conf, more)
        memory: Counter[bool] = Counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
            while run.poll() is None:
                for process in family(run.pid):
                    memory[is_driver(process)] = max(memory[is_driver(process)], python_kib(process) >> 10)
                time.sleep(0.5)
            assert run.stdout is not None
            summary = json.loads(run.stdout.read().splitlines()[-1])
        seconds = dict(re.findall(r'stage_seconds\{stage="(.*?)"\} (\S+)', (place / "metrics").read_text()))
        rows, size, tasks = _shuffled(spark)
        cells = [
            f"{groups:,}",
            f"{summary['events']:,}",
            f"{summary['incidents']:,}",
            f"{float(seconds['scan']):.1f} s",
        ]
        cells += [f"{each:.1f} s" for each in (*tasks, *(float(seconds[s]) for s in ("explain", "write findings")))]
        cells += [
            f"{memory[True]} MiB",
            f"{memory[False]} MiB",
            f"{rows / summary['events']:.2f}",
            f"{size / 1e6:.1f} MB",
        ]
        print("|", " | ".join([*cells, f"{os.getloadavg()[0]:.0f}"]), "|", flush=True)


def is_driver(process: int) -> bool:
    """True if a process runs the job itself, not one of its tasks."""
    try:
        return "run_job.py" in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return False


def _shuffled(spark: Path) -> tuple[int, int, list[float]]:
    # Shuffled rows and bytes, and the duration of the stages before and after the shuffle.
    written, size, read = Counter[int](), 0, Counter[int]()
    spans: dict[int, list[int]] = defaultdict(list)
    for path in spark.rglob("events_*"):
        for event in map(json.loads, path.open()):
            if event["Event"] == "SparkListenerTaskEnd" and (metrics := event.get("Task Metrics")):
                stage, info = event["Stage ID"], event["Task Info"]
                written[stage] += metrics["Shuffle Write Metrics"]["Shuffle Records Written"]
                size += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                read[stage] += metrics["Shuffle Read Metrics"]["Total Records Read"]
                spans[stage] += [info["Launch Time"], info["Finish Time"]]
    stages = [next(stage for stage, rows in of.items() if rows) for of in (written, read)]
    return written.total(), size, [(max(spans[stage]) - min(spans[stage])) / 1000 for stage in stages]


def hourly(_: Path, tables: Path, hours: int = 1_000) -> None:
    """A run for each hour of a log that gets eight lines an hour, all in this process.

    A run takes about a second here, so a day and a week of retention become 24 and 168 seconds.
    """
    log = tables / "logs" / "broker-1" / "server.log"
    log.parent.mkdir(parents=True)
    command = ["--engine", "local", *INTERVAL, "--input", str(log.parents[1]), "--output", str(tables / "lake")]
    print("| runs | of an hour's lines | of nothing new | Delta's logs | data |\n|---|---|---|---|---|", flush=True)
    for hour in range(1, hours + 1):
        with log.open("a") as grows:
            grows.write(evicted(2 * hour, hour * HOUR, "c-1") + evicted(2 * hour + 1, hour * HOUR + HOUR // 2, "c-1"))
        of_lines = _cpu_of(command)
        if hour == 1:
            for table in {path.parent.parent for path in (tables / "lake").rglob("_delta_log/*.json")}:
                DeltaTable(table).alter.set_table_properties(SOON_OVER)
        if hour in (1, 10) or hour % 100 == 0:
            cells = (hour, f"{of_lines:.2f} s", f"{_cpu_of(command):.2f} s", *_sizes(tables / "lake"))
            print("|", " | ".join(map(str, cells)), "|", flush=True)


def _cpu_of(command: list[str]) -> float:
    begun = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        job(command)
    return time.process_time() - begun


def _sizes(lake: Path) -> tuple[str, str]:
    files = [path for path in lake.rglob("*") if path.is_file()]
    parts = ([p for p in files if "_delta_log" in p.parts], [p for p in files if "_delta_log" not in p.parts])
    logs, data = (f"{sum(p.stat().st_size for p in part) >> 10} KB in {len(part)} files" for part in parts)
    return logs, data


PARTS: dict[str, Callable[[Path, Path], None]] = {
    "disk": from_disk,
    "s3": from_s3,
    "growth": grown,
    "files": many_files,
    "executors": on_executors,
    "groups": of_many_groups,
    "hourly": hourly,
}


def main() -> None:
    """Generate, measure, clean up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--share", type=float, default=0.005)
    parser.add_argument("--only", nargs="*", choices=[*PARTS], default=[*PARTS])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        logs = Path(place) / "data" / "lake" / "logs"
        for number in range(4):
            path = logs / f"broker-{number}" / "server.log"
            path.parent.mkdir(parents=True)
            generate(path, (asked.mib << 20) // 4, share=asked.share, seed=number)
        print(HEAD, flush=True)
        for part in asked.only:
            PARTS[part](logs, Path(place) / f"tables-{part}")


if __name__ == "__main__":
    main()
