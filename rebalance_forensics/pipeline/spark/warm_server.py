"""`--keep-warm`: a Spark Connect server that keeps running after the command, for the next one.

The server listens on the loopback interface only, requires a token that no other user can read, and ends after half an
hour without use. Spark Connect needs grpcio, which the `warm` extra installs.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rebalance_forensics.catalog import cache
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.java import find_java
from rebalance_forensics.pipeline.spark.jvm_launch import ROOT, START_SECONDS, jvm_complaints, spark_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDLE_SECONDS = 1800
PACKAGE = ROOT / "rebalance_forensics"
_started: list[subprocess.Popen[bytes]] = []
"""Keeps the Popen objects: Python warns if one is deleted while its process runs, as these do on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmServer:
    """A server that is running or starting."""

    port: int
    token: str
    keeper: int
    """The id of the process that starts and ends the JVM."""

    @property
    def listens(self) -> bool:
        """True if the server's keeper is running and the port accepts connections."""
        try:
            os.kill(self.keeper, 0)
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


def place() -> Path:
    """The file that describes the server for this Python, Spark and version of this program."""
    files = sorted(PACKAGE.rglob("*.py"))
    changed = max(file.stat().st_mtime_ns for file in files)
    identity = f"{sys.executable}\0{spark_jars()}\0{PACKAGE}\0{len(files)}\0{changed}"
    return cache.directory() / f"warm-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def running() -> WarmServer | None:
    """The server that an earlier command left running; None if there is none."""
    try:
        server = WarmServer(**json.loads(place().read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return server if server.listens else None


def warm_session(java_home: str | None = None) -> SparkSession:
    """A session on the running server, or on a new one."""
    if find_spec("grpc") is None or find_spec("grpc_status") is None:
        raise InputError("--keep-warm needs Spark Connect: pip install 'rebalance-forensics[warm]', or leave it out.")
    server = running() or start(java_home)
    place().touch()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark only where it is asked for

    # With the name `localhost`, the client accepts a channel without a certificate.
    session: SparkSession = SparkSession.builder.remote(f"sc://localhost:{server.port}/;token={server.token}").create()
    return session


def start(java_home: str | None = None, *, idle_seconds: float = IDLE_SECONDS) -> WarmServer:
    """Start a server and wait until it listens."""
    java, address = find_java(java_home), place()
    address.parent.mkdir(parents=True, exist_ok=True)
    address.unlink(missing_ok=True)
    log = address.with_suffix(".log")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_urlsafe(32)
    arguments = [str(address), str(log), str(java.executable), str(port), str(idle_seconds)]
    keeper = subprocess.Popen(  # noqa: S603 - this interpreter and the Java that was found and checked
        [sys.executable, "-m", "rebalance_forensics.pipeline.spark.warm_keeper", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "SPARK_CONNECT_AUTHENTICATE_TOKEN": token, "PYTHONPATH": str(PACKAGE.parent)},
        start_new_session=True,
    )
    _started.append(keeper)
    server = WarmServer(port=port, token=token, keeper=keeper.pid)
    deadline = time.monotonic() + START_SECONDS
    while not server.listens:
        if keeper.poll() is not None or time.monotonic() > deadline:
            raise InputError(
                f"Java {java.release} at {java.executable} did not keep Spark: {jvm_complaints(log)}. "
                "Leave --keep-warm out: same report."
            )
        time.sleep(0.05)
    _write(address, server)
    return server


def stop() -> bool:
    """End the server, if one is running; return whether one was."""
    server = running()
    if server is not None:
        os.kill(server.keeper, signal.SIGTERM)
    place().unlink(missing_ok=True)
    return server is not None


def _write(address: Path, server: WarmServer) -> None:
    address.touch(mode=0o600)
    address.chmod(0o600)
    address.write_text(json.dumps(asdict(server)))
