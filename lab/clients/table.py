"""The clients, and how each is installed and started."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.jars import cache, member_jars
from lab.processes import java_command

PROGRAMS = Path(__file__).parent
Command = Callable[[bool], list[str]]
"""Installs the client if necessary and returns the command of its program; True selects its log of trouble."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client release, and how runs use it."""

    name: str
    command: Command
    brokers: tuple[int, ...] = (3, 4)
    """Major broker releases that it supports: 4.0 dropped old requests (KIP-896) and added KIP-848."""
    poll_timeout: bool = True
    """True if it leaves the group while its program takes too long for a record."""
    protocol: str = "classic"


def _java(artifact: str, release: str, main: str, folder: str) -> Command:
    def command(trouble: bool) -> list[str]:  # noqa: FBT001
        jars = member_jars(artifact, release, PROGRAMS / folder)
        return java_command(jars, "64m", [main], release, "org.apache.kafka.clients.consumer" if trouble else "")

    return command


def _python(requirement: str, program: str) -> Command:
    def command(_: bool) -> list[str]:  # noqa: FBT001
        folder = cache() / f"python-{requirement}"
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", requirement], check=True)
            (folder / "complete").touch()
        return [str(python), "-u", str(PROGRAMS / "python" / program)]

    return command


def _go(program: str) -> Command:
    def command(_: bool) -> list[str]:  # noqa: FBT001
        folder = _copy("go")
        build = ["go", "build", "-mod=mod", "-o", "bin/", f"./{program}"]
        subprocess.run(build, check=True, cwd=folder)
        return [str(folder / "bin" / program)]

    return command


def _node(package: str, program: str) -> Command:
    def command(_: bool) -> list[str]:  # noqa: FBT001
        folder = _copy("node")
        if not (folder / "node_modules" / package.partition("@")[0]).exists():
            subprocess.run(["npm", "install", "--no-save", package], check=True, cwd=folder)
        return ["node", str(folder / program)]

    return command


def _rust(_: bool) -> list[str]:  # noqa: FBT001
    folder = _copy("rust")
    subprocess.run(["cargo", "build", "-q", "--release"], check=True, cwd=folder)
    return [str(folder / "target" / "release" / "member")]


def _kcat(_: bool) -> list[str]:  # noqa: FBT001
    if shutil.which("kcat") is None:
        raise SystemExit("kcat is not installed (Debian: apt-get install kcat)")
    return ["sh", str(PROGRAMS / "sh" / "kcat.sh")]


def _copy(language: str) -> Path:
    """Copy a program to the cache, so that its build leaves no files in the project."""
    folder = cache() / language
    shutil.copytree(PROGRAMS / language, folder, dirs_exist_ok=True)
    return folder


CLIENTS = {
    client.name: client
    for client in (
        Client(name="java-0.11", command=_java("kafka-clients", "0.11.0.3", "Member", "java"), brokers=(3,)),
        Client(name="java-1.1", command=_java("kafka-clients", "1.1.1", "Member", "java"), brokers=(3,)),
        Client(name="java-2.8", command=_java("kafka-clients", "2.8.2", "Member", "java")),
        Client(name="java-4.1", command=_java("kafka-clients", "4.1.1", "Member", "java")),
        Client(
            name="java-848",
            command=_java("kafka-clients", "4.1.1", "Member", "java"),
            brokers=(4,),
            protocol="consumer",
        ),
        Client(name="streams-4.1", command=_java("kafka-streams", "4.1.1", "StreamsMember", "streams")),
        Client(name="kafka-python-2.0", command=_python("kafka-python==2.0.2", "kafka_python.py"), brokers=(3,)),
        Client(name="kafka-python-3.0", command=_python("kafka-python==3.0.12", "kafka_python.py")),
        Client(name="aiokafka", command=_python("aiokafka==0.14.0", "aio.py")),
        Client(name="confluent-python", command=_python("confluent-kafka==2.16.1", "confluent.py")),
        Client(
            name="confluent-848",
            command=_python("confluent-kafka==2.16.1", "confluent.py"),
            brokers=(4,),
            protocol="consumer",
        ),
        Client(name="confluent-go", command=_go("confluent-kafka-go")),
        Client(name="sarama", command=_go("sarama"), poll_timeout=False),
        Client(name="franz-go", command=_go("franz-go"), poll_timeout=False),
        Client(name="kafka-go", command=_go("kafka-go"), poll_timeout=False, brokers=(3,)),
        # Its fetchers for other brokers keep sending heartbeats while one record takes too long.
        Client(name="kafkajs", command=_node("kafkajs@2.2.4", "kafkajs.js"), poll_timeout=False),
        # Native threads keep polling while JavaScript takes too long for a record (KafkaConsumerConsumeNum).
        Client(name="node-rdkafka", command=_node("node-rdkafka@3.6.1", "node-rdkafka.js"), poll_timeout=False),
        Client(name="rust-rdkafka", command=_rust),
        Client(name="kcat", command=_kcat, poll_timeout=False),
    )
}
