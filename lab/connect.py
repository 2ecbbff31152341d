"""A Connect cluster whose connectors are created once and then reconfigured every minute for a quarter of an hour.

`python -m lab.connect --kafka 4.1.1 --workers 2 --out DIR` writes logs/ and truth.json, with the time of each request.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
import urllib.request
from contextlib import closing
from pathlib import Path

from lab.cluster import Cluster, free_ports
from lab.jars import connect_jars
from lab.processes import Processes, properties
from lab.recording import now

GROUP = "dwh-connect"
CREATED_AT_ONCE = 6
EVERY_S, ROUNDS = 60, 16
STARTS_WITHIN_S = 180


def record(release: str, workers: int, out: Path) -> Path:
    """Run a broker and the workers, send the requests to their REST interface, and return the folder."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="rebalance-lab-") as folder, closing(Processes()) as processes:
        scratch = Path(folder)
        (scratch / "lines.txt").write_text("a line\n")
        cluster = Cluster(processes, release, 1, out / "logs", scratch)
        ports = free_ports(workers)
        for number, port in enumerate(ports, 1):
            file = properties(scratch / f"worker-{number}.properties", _settings(cluster.bootstrap, port))
            main = ["org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
            processes.java(
                connect_jars(release), "256m", main, out / "logs" / f"worker-{number}" / "connect.log", release
            )
        for port in ports:
            _wait_for(port)
        time.sleep(30)
        requests = [_put(ports[0], f"copy-{number}", scratch, 100) for number in range(1, 1 + CREATED_AT_ONCE)]
        time.sleep(90)
        for number in range(ROUNDS):
            began = time.monotonic()
            # The second number differs in each configuration, as if written by a script that reconfigures in a loop.
            requests.append(_put(ports[0], "copy-1", scratch, 101 + number))
            time.sleep(max(0.0, began + EVERY_S - time.monotonic()))
        truth = {"scenario": "connect-reconfiguration-loop", "kafka_broker": release, "kafka_client": release}
        expected = [
            {"cause": "connect-config-change", "severity": "info", "requests": CREATED_AT_ONCE},
            {"cause": "connect-config-change", "severity": "warning", "requests": ROUNDS, "culprit": "copy-1"},
        ]
        truth_of_run = {**truth, "group": GROUP, "requests": requests, "expected": expected, "ended": now()}
        (out / "truth.json").write_text(json.dumps(truth_of_run, indent=1) + "\n")
    return out


def _settings(bootstrap: str, port: int) -> dict[str, object]:
    converter = "org.apache.kafka.connect.storage.StringConverter"
    topics = {f"{kind}.storage.topic": f"{GROUP}-{kind}s" for kind in ("config", "offset")}
    return {
        "bootstrap.servers": bootstrap,
        "group.id": GROUP,
        **topics,
        "status.storage.topic": f"{GROUP}-status",
        **{f"{kind}.storage.replication.factor": 1 for kind in ("config", "offset", "status")},
        "key.converter": converter,
        "value.converter": converter,
        "listeners": f"HTTP://127.0.0.1:{port}",
    }


def _wait_for(port: int) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/connectors", timeout=10).read()
        except OSError:
            time.sleep(1)
        else:
            return
    raise RuntimeError(f"no worker answers on port {port} after {STARTS_WITHIN_S} s; its connect.log says why")


def _put(port: int, connector: str, scratch: Path, batch: int) -> dict[str, object]:
    """Create or reconfigure a connector."""
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(scratch / "lines.txt"),
        "topic": connector,
        "batch.size": str(batch),
        "tasks.max": "1",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
    }
    url = f"http://127.0.0.1:{port}/connectors/{connector}/config"
    request = urllib.request.Request(
        url, json.dumps(config).encode(), {"Content-Type": "application/json"}, method="PUT"
    )
    at = now()
    urllib.request.urlopen(request, timeout=90).read()  # noqa: S310 - its own worker
    return {"ts": at, "connector": connector}


def main() -> None:
    """Record; all processes are ended, even if it is interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="python -m lab.connect", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kafka", default="4.1.1", help="release of the broker and the workers")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    print(record(chosen.kafka, chosen.workers, chosen.out))


if __name__ == "__main__":
    main()
