"""Lines of clients in other languages, and of the coordinator that has them as members."""

from __future__ import annotations

import json
from pathlib import Path

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

KAFKAJS = "kafkajs-b9aebbba-0940-4779-a689-9f2125e2cc10"


RDKAFKA, ANOTHER = "rdkafka-58937e1f-cc2c-42da-90eb-a49bb53979e6", "rdkafka-82951956-8c07-4554-bf36-5bfa8f2b2dc8"


KGO, SECOND_KGO = "kgo-c0266201-59c1-419d-94ca-5bed270a335a", "kgo-11efec48-12ec-4d3e-92f9-09245df23a57"


def incidents(directory: Path, *lines: str) -> tuple[Incident, ...]:
    (directory / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(analyze([str(directory)], AnalyzeOptions(engine="local")).incidents)


def causes(found: tuple[Incident, ...]) -> list[str]:
    return [incident.root_causes[0].cause for incident in found]


def kafkajs(second: float, level: str, message: str, **more: object) -> str:
    at = f"2026-03-01T01:10:{second:06.3f}Z"
    return json.dumps({"level": level, "timestamp": at, "logger": "kafkajs", "message": message, **more})


def heard(second: float) -> str:
    error = "The group is rebalancing, so a rejoin is needed"
    return kafkajs(
        second, "ERROR", "[Connection] Response Heartbeat(key: 12, version: 3)", clientId="kafkajs", error=error
    )


def rejoined(second: float) -> str:
    about = {"groupId": "payments", "memberId": KAFKAJS, "leaderId": KAFKAJS, "isLeader": True, "duration": 231}
    return kafkajs(second, "INFO", "[ConsumerGroup] Consumer has joined the group", **about)


def rdkafka(second: float, facility: str, message: str, level: int = 7) -> str:
    return f"%{level}|{1772327400 + second:.3f}|{facility}|rdkafka#consumer-1| [thrd:main]: {message}"


APP = ['{"level":"WARN","timestamp":"2026-03-01T01:10:02.000Z","logger":"app","message":"slow query"}'] * 50


COORDINATOR = "[2026-03-01 01:10:{:02},100] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"


REBALANCE = (
    "Preparing to rebalance group payments in state PreparingRebalance with old generation {} "
    "(__consumer_offsets-1) (reason: {})"
)


STABLE = "Stabilized group payments generation {} (__consumer_offsets-1) with 2 members"


PYTHON = "2026-03-01 01:{},112 INFO kafka.coordinator {}"


JAVA = (
    "2026-03-01 01:{},112 INFO [Consumer clientId=c-1, groupId=payments] {} (o.a.k.c.c.internals.ConsumerCoordinator)"
)


MEMBER = "c-1-7b42eeed-3258-4a90-9e29-14627a954ecc"


IN_GENERATION = f"Generation{{generationId=7, memberId='{MEMBER}', protocol='range'}}"


LEAVES = f"Member {MEMBER} sending LeaveGroup request to coordinator b1:9092 (id: 2147483646 rack: null) due to the "


AIOKAFKA = "2026-03-01 01:{:02}:00,112 - aiokafka.consumer.group_coordinator - {} - {}"


PYTHON_NO_LONGER = "Heartbeat failed: local member_id was not recognized; resetting and re-joining group"


FORGOTTEN = "The coordinator is not aware of this member"


SEGMENTIO = "segmentio@pay-1 (github.com/segmentio/kafka-go)-{}"


FIRST_ID, SECOND_ID = SEGMENTIO.format(KGO[4:]), SEGMENTIO.format(RDKAFKA[8:])


def kafka_go(minute: int, message: str, name: str = "kafka reader") -> str:
    return f"{name}: 2026/03/01 01:{minute:02}:00 {message}"


def joins(second: int, member: str, generation: int) -> list[str]:
    adding = f"Adding new member {member} with group instance id None; client reason: not provided"
    return [
        COORDINATOR.format(
            second,
            f"Dynamic member with unknown member id joins group payments in Stable state. Created a new member id "
            f"{member} and request the member to rejoin with this id.",
        ),
        COORDINATOR.format(second, REBALANCE.format(generation, adding)),
    ]


def fails(second: int, member: str, generation: int) -> list[str]:
    removing = f"removing member {member} on heartbeat expiration"
    return [
        COORDINATOR.format(second, f"Member {member} in group payments has failed, removing it from the group"),
        COORDINATOR.format(second, REBALANCE.format(generation, removing)),
    ]


DENIED = "Marking the coordinator dead (node coordinator-1) for group payments: [Error 16] NotCoordinatorError."
