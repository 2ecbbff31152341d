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


def test_its_member_ids_tell_which_client_speaks() -> None:
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


def test_a_log_of_two_members_names_nobody() -> None:
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
def test_a_kip_848_member_id_in_either_base64_names_nobody(member: str) -> None:
    assert is_bare_member_id(member)
