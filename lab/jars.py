"""The jars of a Kafka release from Maven Central, and the lab's Java classes compiled against them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

JAVA_SOURCES = Path(__file__).parent / "java"
LOG4J_1 = (("org.slf4j", "slf4j-reload4j", "1.7.36"),)
LOG4J_2 = (
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
    ("org.apache.logging.log4j", "log4j-core", "2.24.3"),
    ("org.apache.logging.log4j", "log4j-1.2-api", "2.24.3"),
)


def cache() -> Path:
    """The directory that keeps jars between runs."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "rebalance-forensics-lab"


def logs_with_log4j_2(release: str) -> bool:
    """True since Kafka 4.0 (KIP-653); earlier releases use reload4j."""
    return int(release.split(".", 1)[0]) >= 4


def broker_jars(release: str) -> Path:
    """The folder with all jars of a broker of this release."""
    return _resolved(f"broker-{release}", ["kafka_2.13"], release)


def tools_jars(release: str) -> Path:
    """The folder with the administration tools of this release; older releases have some in the broker folder."""
    return _resolved(f"tools-{release}", ["kafka_2.13", "kafka-tools"], release)


def connect_jars(release: str) -> Path:
    """The folder with a Connect worker and the connectors that read and write files."""
    return _resolved(f"connect-{release}", ["connect-runtime", "connect-file"], release)


def client_jars(release: str) -> Path:
    """The folder with the Java client of this release and the lab's consumer and producer."""
    return _compiled(_resolved(f"client-{release}", ["kafka-clients"], release), JAVA_SOURCES)


def member_jars(artifact: str, release: str, sources: Path) -> Path:
    """The folder with a Kafka artifact of this release and a program's compiled classes."""
    return _compiled(_resolved(f"{artifact}-{release}", [artifact], release), sources)


def _compiled(folder: Path, programs: Path) -> Path:
    classes = folder / "classes"
    sources = sorted(programs.glob("*.java"))
    if not classes.exists() or classes.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        shutil.rmtree(classes, ignore_errors=True)
        command = ["javac", "--release", "11", "-nowarn", "-cp", f"{folder}/*", "-d", str(classes), *map(str, sources)]
        subprocess.run(command, check=True)
    return folder


def _resolved(name: str, artifacts: Sequence[str], release: str) -> Path:
    folder = cache() / name
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    logging = LOG4J_2 if logs_with_log4j_2(release) else LOG4J_1
    (folder / "pom.xml").write_text(_pom((*(("org.apache.kafka", name, release) for name in artifacts), *logging)))
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
    subprocess.run(["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), *copy], check=True)
    (folder / "complete").touch()
    return folder


def _pom(artifacts: tuple[tuple[str, str, str], ...]) -> str:
    needed = "".join(
        f"<dependency><groupId>{escape(group)}</groupId><artifactId>{escape(name)}</artifactId>"
        f"<version>{escape(version)}</version></dependency>"
        for group, name, version in artifacts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>lab</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<dependencies>{needed}</dependencies></project>\n"
    )
