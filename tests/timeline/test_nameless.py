"""Python clients print their group but no client id."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.timeline.identity.names import is_bare_member_id
from tests.kafka_words import member_id
from tests.story import Story, ms

KAFKA_PYTHON = "kafka.coordinator"


def python() -> Story:
    story = Story(seen="clients")

    def says(client: str, time: str, message: str, level: str = "INFO") -> None:
        story.line(f"{client}/app.log", time, message, level=level, logger=KAFKA_PYTHON)

    for client, partition in (("py-1", 0), ("py-2", 1)):
        says(client, "01:00:00.000", "(Re-)joining group payments")
        generation = f"<Generation 1 (member_id: {member_id(client)}, protocol: range)>"
        says(client, "01:00:03.000", f"Successfully joined group payments {generation}")
        given = f"{{TopicPartition(topic='orders', partition={partition})}}"
        says(client, "01:00:03.010", f"Setting newly assigned partitions {given} for group payments")
    says("py-2", "01:05:00.000", "Heartbeat poll expired, leaving group", "WARNING")
    says("py-2", "01:05:00.001", f"Leaving consumer group payments (member {member_id('py-2')}).")
    lost = "{TopicPartition(topic='orders', partition=1)}"
    says("py-2", "01:05:20.000", f"Group payments lost membership; forcibly revoking {lost}")
    says("py-2", "01:05:20.001", "(Re-)joining group payments")
    says(
        "py-2",
        "01:05:22.000",
        f"Successfully joined group payments <Generation 3 (member_id: {member_id('py-2', 2)}, protocol: range)>",
    )
    says("py-2", "01:05:22.010", f"Setting newly assigned partitions {lost} for group payments")
    return story


def test_the_member_ids_identify_the_client() -> None:
    story = python()
    assert story.causes()[-1] == "slow-processing"
    (pause,) = story.history().pauses
    assert (pause.client_id, pause.kind, (pause.ended_at or 0) - pause.started_at) == ("py-2", "lost", 2_010)


def test_they_tell_it_for_every_file_of_a_rolled_log() -> None:
    story = python()
    story.events = [
        replace(e, speaker=replace(e.speaker, file="py-2/app.log.2026-03-01"))
        if e.speaker.host == "py-2" and (e.at or 0) == ms("01:05:20.000")
        else e
        for e in story.events
    ]
    (pause,) = story.history().pauses
    assert (pause.client_id, pause.kind) == ("py-2", "lost")


def test_a_log_of_two_members_identifies_no_client() -> None:
    story = Story(seen="clients")
    for client in ("py-1", "py-2"):
        generation = f"<Generation 1 (member_id: {member_id(client)}, protocol: range)>"
        story.line(
            "app/app.log", "01:00:03.000", f"Successfully joined group payments {generation}", logger=KAFKA_PYTHON
        )
    story.line("app/app.log", "01:05:00.000", "Heartbeat poll expired, leaving group", logger=KAFKA_PYTHON)
    assert "slow-processing" not in story.causes()


@pytest.mark.parametrize(
    "member", ["n3JPcfZXTfynCiSzgV7D0A", "7iu/zwFEQmCGg/w9IrmfWA", "2+arAbe1QkK3CRfLghbaMA", "fbUPJ7UiRfy9mTLRuSUg-_"]
)
def test_a_kip_848_member_id_in_either_base64_identifies_no_client(member: str) -> None:
    assert is_bare_member_id(member)


def evicted_leader(*, said_by: str = "node-2", id_of_next: int = 2) -> Story:
    """kafka-python 2.0, which prints no member id: the leader of generation 1 is evicted and comes back."""
    story = Story(seen="both")

    def says(log: str, time: str, message: str) -> None:
        story.line(f"{log}/app.log", time, message, logger=KAFKA_PYTHON)

    def joins(log: str, time: str, until: str, generation: int, *, leads: bool = False) -> None:
        says(log, time, "(Re-)joining group payments")
        if leads:
            says(log, until, "Elected group leader -- performing partition assignments using range")
        says(log, until, f"Successfully joined group payments with generation {generation}")

    def stands(time: str, leader: str, generation: int, members: int) -> None:
        counted = f"The group has {members} members, 0 of which are static."
        received = f"Assignment received from leader {leader} for group payments for generation {generation}. {counted}"
        story.broker(time, received)

    first, second = member_id("py-1"), member_id("py-2")
    for log in ("node-1", said_by):
        joins(log, "01:00:00.000", "01:00:03.000", 1, leads=log == said_by)
    stands("01:00:03.010", second, 1, 2)
    story.broker("01:05:06.000", f"Member {second} in group payments has failed, removing it from the group")
    joins("node-1", "01:05:06.100", "01:05:06.200", 2, leads=True)
    stands("01:05:06.300", first, 2, 1)
    story.line(
        f"{said_by}/app.log",
        "01:05:14.000",
        "Updating subscribed topics to: ('orders',)",
        logger="kafka.consumer.subscription_state",
    )
    says(said_by, "01:05:14.100", "Discovered coordinator coordinator-2 for group payments")
    story.broker(
        "01:05:14.200",
        "Dynamic Member with unknown member id joins group payments in Stable state. Created a new member id "
        f"{member_id('py-2', id_of_next)} for this member and add to the group.",
    )
    joins("node-1", "01:05:14.300", "01:05:15.000", 3, leads=True)
    joins(said_by, "01:05:14.200", "01:05:15.000", 3)
    stands("01:05:15.100", first, 3, 2)
    return story


def test_a_log_without_names_is_of_the_member_that_led_the_generations_which_it_led() -> None:
    incident = evicted_leader().the_incident()
    cause = incident.root_causes[0]
    assert (cause.cause, cause.confidence >= 0.75) == ("process-crash", True)
    assert "node-2/app.log" in cause.culprits[0].names
    assert cause.culprits[0].name == "py-2"


def test_a_log_of_two_members_without_names_is_of_neither_though_one_of_them_led() -> None:
    cause = evicted_leader(said_by="node-1").the_incident().root_causes[0]
    assert "node-1/app.log" not in cause.culprits[0].names
    assert cause.confidence < 0.75
