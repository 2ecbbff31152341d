"""Java processes that end with the run, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.jars import logs_with_log4j_2

SMALL_MACHINE = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k", "-Duser.timezone=UTC")
_LOG4J_1 = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
_LOG4J_2 = """status=error
appender.stdout.type=Console
appender.stdout.name=stdout
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=info
rootLogger.appenderRef.stdout.ref=stdout
"""


class JavaProcess:
    """A JVM or another program whose standard output is a log."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        """Start it; on Linux the kernel kills it when the lab itself is killed."""
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [*guard, *command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """True if it has not exited yet."""
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self.runs:
            os.kill(self._process.pid, number)

    def tell(self, line: str) -> None:
        """Write a line to its standard input."""
        if self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def stop(self, within: float = 20) -> None:
        """Shut it down cleanly, or kill it if it has not exited within so many seconds."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill it without a chance to leave its group."""
        self.signal(signal.SIGKILL)
        self._process.wait()


class Processes:
    """All processes of a run."""

    def __init__(self) -> None:
        self._started: list[JavaProcess] = []

    def close(self) -> None:
        """Stop all processes, the newest first."""
        for process in reversed(self._started):
            process.kill()

    def java(
        self,
        jars: Path,
        heap: str,
        main: Sequence[str],
        log: Path,
        release: str,
        place: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> JavaProcess:
        """Start a JVM with all jars of a folder, with the logging of Kafka's own scripts.

        `place` is a command prefix that determines where it runs; `options` are additional JVM options.
        """
        return self.start([*place, *java_command(jars, heap, main, release, options=options)], log)

    def start(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> JavaProcess:
        """Start any program, with additional environment variables."""
        process = JavaProcess(command, log, environment)
        self._started.append(process)
        return process


def java_command(
    jars: Path, heap: str, main: Sequence[str], release: str, debug: str = "", options: Sequence[str] = ()
) -> list[str]:
    """The command of a JVM with all jars of a folder; the classes below `debug` log at DEBUG."""
    settings = logging_settings(jars, release, debug)
    version = "log4j2.configurationFile" if logs_with_log4j_2(release) else "log4j.configuration"
    path = f"{jars}/classes:{jars}/*"
    return ["java", f"-Xmx{heap}", *SMALL_MACHINE, *options, f"-D{version}={settings.as_uri()}", "-cp", path, *main]


def logging_settings(jars: Path, release: str, debug: str = "") -> Path:
    """The configuration file with which a process logs lines like `[2026-11-21 01:56:59,676] INFO message (class)`."""
    second = logs_with_log4j_2(release)
    path = jars / f"{debug or 'log4j'}.{'log4j2' if second else 'log4j'}.properties"
    more = (
        (f"logger.1.name={debug}\nlogger.1.level=debug\n" if second else f"log4j.logger.{debug}=DEBUG\n")
        if debug
        else ""
    )
    text = (_LOG4J_2 if second else _LOG4J_1) + more
    # A JVM that starts while the file is rewritten would find it empty and log nothing.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def properties(path: Path, settings: Mapping[str, object]) -> Path:
    """Write a .properties file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path
