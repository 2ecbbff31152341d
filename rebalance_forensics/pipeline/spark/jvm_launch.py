"""Starts a JVM for Spark without Spark's scripts.

Spark's scripts start a shell and a second JVM only to determine the command line, print to the terminal, and require a
Java module (jdk.incubator.vector) that small runtimes lack and nothing here uses.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.java import Java
from rebalance_forensics.process import scratch, stop_signals

SERVER = "org.apache.spark.api.python.PythonGatewayServer"
START_SECONDS = 120
GONE_SECONDS = 0.5
ROOT = Path(__file__).resolve().parents[3]
# The packages that org.apache.spark.launcher.JavaModuleOptions opens.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)

MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)


_running: list[Booting] = []
"""Keeps the pipes open: a JVM ends when the pipe to it is garbage-collected."""


@atexit.register
def end_all() -> None:
    """End the JVMs of this process and wait until they have."""
    for jvm in _running:
        jvm.end()
    _running.clear()


@stop_signals.at_once
def kill_all() -> None:
    """Kill the JVMs of this process; all of their files are in a directory that this process removes."""
    for jvm in _running:
        jvm.process.kill()
    for jvm in _running:
        jvm.process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Booting:
    """A JVM that was started; it ends with this process."""

    java: Java
    process: subprocess.Popen[bytes]
    address: Path
    log: Path

    def gateway(self) -> tuple[int, str]:
        """Wait until the JVM listens, and return the port and secret for PySpark."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.address.is_file():
                with self.address.open("rb") as address:
                    return _integer(address), address.read(_integer(address)).decode()
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        killed = self.ended_by is not None
        self.process.kill()
        self.end()
        if killed:
            raise InputError(self.lost("before Spark was up"))
        raise InputError(
            f"Java {self.java.release} at {self.java.executable} ({self.java.source}) did not start Spark: "
            f"{jvm_complaints(self.log)}. Name another one with --java-home, or use --engine local: same report."
        )

    @property
    def ended_by(self) -> int | None:
        """The signal that killed the JVM; None if none did."""
        code = self.process.poll()
        return -code if code is not None and code < 0 else None

    def lost(self, when: str) -> str:
        """The error message for a JVM that ended by itself or was killed."""
        how = "ended" if self.ended_by is None else f"was killed by signal {self.ended_by}"
        why = f": {jvm_complaints(self.log)}" if self.ended_by is None else ""
        return (
            f"Java {self.java.release} (process {self.process.pid}) {how} {when}{why}. See whether the system ran "
            "out of memory and run it again, or use --engine local: same report."
        )

    def end(self) -> None:
        """End the JVM and wait until it has: it writes its class archive as it exits."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


@contextmanager
def reporting_lost_jvm() -> Iterator[None]:
    """Raise InputError if the JVM was lost: Spark's own errors in that case do not show it."""
    try:
        yield
    except Exception as error:
        if (lost := next(filter(_is_lost, _running), None)) is not None:
            raise InputError(lost.lost("while Spark was at work")) from error
        raise


def _is_lost(jvm: Booting) -> bool:
    # True if a JVM has ended that was not asked to; the system may report it with a delay.
    if jvm.process.stdin is None or jvm.process.stdin.closed:
        return False
    with suppress(subprocess.TimeoutExpired):
        jvm.process.wait(GONE_SECONDS)
    return jvm.process.poll() is not None


def spark_jars() -> Path:
    """The jars of the installed PySpark."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home) / "jars"
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise InputError("PySpark is not installed here: pip install pyspark, or use --engine local.")
    return Path(found.origin).parent / "jars"


def command_line(java: Java, options: Sequence[str]) -> list[str]:
    """The command that starts the JVM; its class path has only jar files, as class-data archives require."""
    return [str(java.executable), "-cp", class_path(), "-Xmx2g", *module_options(), *options, SERVER]


def class_path() -> str:
    """All jars of Spark."""
    return os.pathsep.join(sorted(str(jar) for jar in spark_jars().glob("*.jar")))


def module_options() -> tuple[str, ...]:
    """The options of every JVM: the packages opened for Spark, and no warnings on the terminal."""
    # All files of Java and Spark go to a directory that this process removes, however they end.
    places = (f"-Djava.io.tmpdir={scratch.directory()}", "-XX:-UsePerfData")
    return *MODULE_OPTIONS, *places, f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"


def jvm_environment() -> dict[str, str]:
    """The environment of the JVM and of its Python workers."""
    local = os.environ.get("SPARK_LOCAL_DIRS")
    return {
        **os.environ,
        **(
            {"SPARK_LOCAL_DIRS": ",".join(str(scratch.directory(directory)) for directory in local.split(","))}
            if local
            else {}
        ),
        "SPARK_CONNECT_MODE": "0",
        "SPARK_HOME": str(spark_jars().parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # No module in the working directory may shadow one of this package.
        "PYTHONSAFEPATH": "1",
        # Python workers import this package, even if it runs from its source tree.
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }


def launch(java: Java, options: Sequence[str] = ()) -> Booting:
    """Start the JVM without waiting for it."""
    directory = Path(tempfile.mkdtemp(prefix="jvm-", dir=scratch.directory()))
    address, log = directory / "gateway", directory / "jvm.log"
    environment = {**jvm_environment(), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the Java that was found and checked
            command_line(java, options),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment,
            # Only the command handles Ctrl-C; the JVM ends when its standard input is closed.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN) if os.name == "posix" else None,  # noqa: PLW1509
        )
    booting = Booting(java=java, process=process, address=address, log=log)
    _running.append(booting)
    # Py4J logs a traceback to the root logger for each call to a JVM that has ended, which is reported once already.
    logging.getLogger().addFilter(_is_not_traceback)
    return booting


def _is_not_traceback(record: logging.LogRecord) -> bool:
    return record.msg != "Exception while sending command."


def _integer(stream: BinaryIO) -> int:
    return int(struct.unpack(">i", stream.read(4))[0])


def jvm_complaints(log: Path) -> str:
    """The first error that a JVM printed before it ended."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if "Error" in line or "Exception" in line), 0)
    # The JVM names what failed on one line and why on the next.
    return ": ".join(line.rstrip(".:") for line in lines[first : first + 2])[:300] or "it said nothing"
