"""Class-data archives of the JVM: written once by `warmup`, mapped into memory at every later start.

Loading and linking the ten thousand classes of a Spark session takes longer than all the rest of its start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rebalance_forensics.catalog.cache import directory
from rebalance_forensics.pipeline.spark.java import Java
from rebalance_forensics.pipeline.spark.jvm_launch import spark_jars

FIRST_WITH_AHEAD_OF_TIME_CACHE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archive of a Java runtime, with the JVM options that create and use it."""

    path: Path
    training: tuple[str, ...]
    dumping: tuple[str, ...]
    """Options of a second run that writes the archive; empty if the training run does."""
    using: tuple[str, ...]

    def options(self) -> tuple[str, ...]:
        """Options for a start with the archive; empty before `warmup`."""
        return self.using if self.path.is_file() else ()


def archive_for(java: Java) -> Archive:
    """The archive for this Java and these jars: the JVM rejects, with warnings, one for others."""
    path = directory() / f"classes-{_key(java)}"
    if java.release >= FIRST_WITH_AHEAD_OF_TIME_CACHE:
        cache = path.with_suffix(".aot")
        return Archive(
            path=cache, training=(f"-XX:AOTCacheOutput={cache}",), dumping=(), using=(f"-XX:AOTCache={cache}",)
        )
    archive = path.with_suffix(".jsa")
    using = (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto")
    # Most runtimes include an archive of their own classes; small ones omit it.
    if (java.executable.parent.parent / "lib" / "server" / "classes.jsa").is_file():
        return Archive(path=archive, training=(f"-XX:ArchiveClassesAtExit={archive}",), dumping=(), using=using)
    classes = path.with_suffix(".classes")
    return Archive(
        path=archive,
        training=("-Xshare:off", f"-XX:DumpLoadedClassList={classes}"),
        dumping=("-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={archive}"),
        using=using,
    )


def _key(java: Java) -> str:
    digest = hashlib.sha256("\0".join(_identity(java)).encode(errors="replace"))
    return digest.hexdigest()[:24]


def _identity(java: Java) -> Iterator[str]:
    yield str(java.executable)
    release = java.executable.parent.parent / "release"
    yield release.read_text(errors="replace") if release.is_file() else str(java.release)
    for jar in sorted(spark_jars().glob("*.jar")):
        status = jar.stat()
        yield f"{jar} {status.st_size} {status.st_mtime_ns}"
