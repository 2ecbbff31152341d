"""The process that keeps a Spark Connect server running: starts its JVM and ends it when it has become idle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rebalance_forensics.pipeline.spark.jvm_launch import START_SECONDS, class_path, jvm_environment, module_options
from rebalance_forensics.pipeline.spark.session import jvm_options, local_settings
from rebalance_forensics.process.resources import cores

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_POLL_SECONDS = 1.0


def keep(address: Path, log: Path, java: str, port: int, idle_seconds: float) -> None:
    """Run until the file that describes the server was deleted or has not been touched for `idle_seconds`."""
    settings = {
        **local_settings(cores()),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    with log.open("wb") as output:
        jvm = subprocess.Popen(  # noqa: S603 - the Java that was found and checked
            [
                java, "-cp", class_path(), "-Xmx2g", *module_options(), *jvm_options(small=False),
                *(f"-D{name}={value}" for name, value in settings.items()), SERVER,
            ],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env={**jvm_environment(), "PYSPARK_PYTHON": sys.executable},
        )  # fmt: skip
    signal.signal(signal.SIGTERM, lambda *_: jvm.terminate())
    started = time.time()
    while jvm.poll() is None:
        time.sleep(_POLL_SECONDS)
        # The file is written once the server listens, and touched by each command that uses it.
        used, limit = (address.stat().st_mtime, idle_seconds) if address.exists() else (started, START_SECONDS)
        if time.time() - used > limit:
            jvm.terminate()
            jvm.wait()
            address.unlink(missing_ok=True)


if __name__ == "__main__":
    os.umask(0o077)
    keep(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
