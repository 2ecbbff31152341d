"""What a run of the job costs: by bytes, from a directory and from an S3 server, and when nothing is new.

    python -m benchmarks.job [--mib 256] [--engine local|spark]

Needs versitygw on the PATH (or in ~/go/bin) for the part about S3; without it, that part is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.generate import generate

PORT = 17171
GATEWAY = shutil.which("versitygw") or shutil.which("versitygw", path=str(Path.home() / "go" / "bin"))


def run(what: str, source: str, output: str, engine: str) -> None:
    """One run in a process of its own; wall and CPU time, throughput, what it did."""
    command = [sys.executable, "-m", "rebalance_forensics.job", "--engine", engine, "--input", source]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, "--output", output, "--since", "2026-01-01", "--until", "2027-01-01"],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - start
    told = json.loads(done.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rate = told["bytes"] / cpu / 1e6
    peak = after.ru_maxrss >> 10
    print(
        f"{what}: {seconds:.1f} s, {cpu:.1f} s of CPU, "
        f"{told['bytes'] >> 20} MiB, {rate:.0f} MB a CPU second, {told['events']} events, "
        f"{told['days']} dates, {told['incidents']} incidents, peak {peak} MiB"
    )


def main() -> None:
    """Generate, measure, clean up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--share", type=float, default=0.005)
    parser.add_argument("--engine", default="local")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / "s3" / "lake" / "logs").mkdir(parents=True)
        (root / "meta").mkdir()
        for number in range(4):
            path = root / "s3" / "lake" / "logs" / f"broker-{number}" / "server.log"
            path.parent.mkdir()
            generate(path, (asked.mib << 20) // 4, share=asked.share, seed=number)
        run("from disk", str(root / "s3" / "lake" / "logs"), str(root / "tables"), asked.engine)
        run("nothing new", str(root / "s3" / "lake" / "logs"), str(root / "tables"), asked.engine)
        if GATEWAY:
            from_s3(root, asked.engine)


def from_s3(root: Path, engine: str) -> None:
    """The same bytes through a server."""
    assert GATEWAY is not None
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    command = [GATEWAY, "--access", "key", "--secret", "secret", "--port", f"127.0.0.1:{PORT}", "posix"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [*command, "--sidecar", str(root / "meta"), str(root / "s3")], stdout=quiet, stderr=quiet
    ) as server:
        time.sleep(2)
        run("from S3", "s3://lake/logs", "s3://lake/tables", engine)
        run("nothing new in S3", "s3://lake/logs", "s3://lake/tables", engine)
        server.terminate()


if __name__ == "__main__":
    main()
