from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import RootCause
from tests.diagnosis.closings import closes, comes
from tests.diagnosis.other_clients import incidents
from tests.epochs import EpochStory
from tests.kafka_words import Release
from tests.story import Side, Story


@pytest.mark.parametrize("release", [(1, 0), (2, 2), (2, 4), (2, 8), (3, 9), (4, 1)])
def test_a_group_that_forms_from_empty_starts_up(release: Release) -> None:
    (incident,) = Story(release=release).formed("c-1", "c-2", "c-3").case().incidents
    assert incident.root_causes[0].cause == "startup"
    assert incident.severity == "info"
    assert incident.generations == (1,)


@pytest.mark.parametrize("seen", ["brokers", "clients"])
def test_one_side_is_enough(seen: Side) -> None:
    incidents = Story(seen=seen).formed("c-1", "c-2").case().incidents
    assert [i.root_causes[0].cause for i in incidents] == ["startup"]


def test_a_newcomer_to_a_living_group_is_no_startup() -> None:
    story = comes(Story().formed("c-1", "c-2"), "c-3", "01:30:00.000", ["c-1", "c-2", "c-3"])
    assert [i.root_causes[0].cause for i in story.case().incidents] == ["startup", "scale-out"]


def test_logs_that_begin_in_the_middle_show_no_startup() -> None:
    story = Story(generation=41, holds={"c-1": ("orders-0",), "c-2": ("orders-1",)})
    story.rebalanced("01:00:00.000", story.words.leaving("c-9-0000"), ["c-1", "c-2"])
    assert "startup" not in [i.root_causes[0].cause for i in story.case().incidents]


@pytest.mark.parametrize("old", [0, 1, 7])
@pytest.mark.parametrize("counted", [None, 1, 3])
def test_an_old_generation_alone_does_not_tell_that_the_group_was_empty(old: int, counted: int | None) -> None:
    story = Story(seen="brokers")
    story.broker("01:00:00.000", story.words.preparing(old, story.words.adding(story.id_of("c-1"))))
    if counted is not None:
        story.broker("01:00:03.000", story.words.stabilized(old + 1, counted))
    causes = [i.root_causes[0] for i in story.case().incidents if i.root_causes[0].cause == "startup"]
    assert all(cause.confidence < 0.6 for cause in causes) == bool(old and counted != 1)


def test_an_assignment_after_the_only_known_member_was_fenced_shows_that_another_one_stayed() -> None:
    """KIP-848: an assignment is computed at a heartbeat of a member, so the group is not empty."""
    story = Story(seen="brokers", release=(4, 0))
    coordinator = "[GroupCoordinator id=2 topic=__consumer_offsets partition=3] [GroupId payments] "
    member = "Member q_g2Of4jT0mmOKBu4ecXdA "
    story.line(
        "broker-2/server.log",
        "01:10:00.000",
        f"{coordinator}{member}fenced from the group because the member session expired.",
    )
    story.line("broker-2/server.log", "01:10:00.001", f"{coordinator}Bumped group epoch to 6.")
    story.line(
        "broker-2/server.log",
        "01:10:00.080",
        f"{coordinator}Computed a new target assignment for epoch 6 with 'uniform' assignor in 0ms.",
    )
    story.line(
        "broker-2/server.log",
        "01:10:06.000",
        f"{coordinator}{member}joins the consumer group using the consumer protocol.",
    )
    assert "startup" not in [incident.root_causes[0].cause for incident in story.case().incidents]


def test_a_coordinator_that_logs_no_member_count_does_not_show_that_new_members_are_the_only_ones() -> None:
    story = Story(seen="brokers", release=(2, 2))
    for old, client, at in ((1689, "c-1", "01:00:00.000"), (1690, "c-2", "01:00:10.000")):
        story.broker(at, story.words.preparing(old, story.words.adding(story.id_of(client))))
        story.broker(at, f"Stabilized group {story.group} generation {old + 1} (__consumer_offsets-38)")
    causes = [i.root_causes[0] for i in story.case().incidents if i.root_causes[0].cause == "startup"]
    assert all(cause.confidence < 0.6 for cause in causes)


def test_a_generation_of_which_one_line_is_left_was_not_there_before_the_group_formed() -> None:
    story = closes(Story(seen="brokers").formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    story.broker("01:20:00.000", story.words.stabilized(3, 2))
    assert [i.root_causes[0].cause for i in story.case().incidents][:2] == ["startup", "scale-in"]


def test_a_member_that_the_coordinator_moves_on_was_there_before_those_who_join_after_it() -> None:
    """KIP-848: where logs begin in the middle, what a member is assigned is the first word of it."""
    story = EpochStory(release=(4, 1), seen="brokers")
    story.generation = 13
    gone = f"Member {story.member('c-2')} fenced from the group because its session expired."
    story.group_says("01:10:00.000", gone).bumped("01:10:00.001")
    state = "epoch=14, previousEpoch=12, state=STABLE, assignedPartitions=[TnjdwvbFRvCvWA5NQ1mtzg-0]"
    reconciled = f"Member {story.member('c-1')} new assignment state: {state} and revokedPartitions=[]."
    story.group_says("01:10:00.500", reconciled)
    story.joins("c-2", "01:10:14.000")
    assert all(i.root_causes[0].cause != "startup" for i in story.case().incidents)


def test_who_expires_sooner_than_a_session_lasts_was_in_the_group_before_those_who_just_joined() -> None:
    story = EpochStory(release=(4, 1), seen="brokers")
    story.generation = 13
    story.joins("c-2", "01:10:00.000")
    story.group_says("01:10:01.000", f"Member {story.member('c-1')} fenced from the group because its session expired.")
    story.bumped("01:10:01.001")
    assert all(i.root_causes[0].cause != "startup" for i in story.case().incidents)


@pytest.mark.parametrize(("release", "least"), [("4.2.0", 0.0), ("4.3.0", 0.75)])
def test_epoch_two_is_the_first_of_a_group_since_brokers_of_4_3(release: str, least: float) -> None:
    story = EpochStory(release=(4, 1), seen="brokers", generation=1)
    story.line("broker-2/server.log", "00:59:00.000", f"Kafka version: {release}", logger=APP_INFO)
    found = story.joins("c-1", "01:10:00.000").case().incidents[0].root_causes[0]
    assert found.cause == "startup"
    assert least <= found.confidence < (least or 0.6) + 0.25


@pytest.mark.parametrize("old", [0, 5])
def test_an_old_client_in_a_later_generation_does_not_tell_that_it_is_alone(old: int) -> None:
    story = Story(seen="clients", release=(2, 2), generation=old).started("c-1", "00:59:58.000")
    causes = [i.root_causes[0] for i in story.formed("c-1").case().incidents]
    assert [(cause.cause, cause.confidence < 0.6) for cause in causes] == [("startup", old > 0)]


APP_INFO = "org.apache.kafka.common.utils.AppInfoParser"
COORDINATOR_CLASS = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
AT = "2026-03-01 01:10:{:02},100"
PYTHON_INFO = AT + " - kafka.coordinator - INFO - "
JAVA_INFO = "[" + AT + "] INFO [Consumer clientId=orders-1, groupId=payments] {} (" + COORDINATOR_CLASS + ")"
RDKAFKA_DEBUG = "%7|17723274{:02}.100|{}|orders-1#consumer-1| [thrd:main]: {}"
RDKAFKA_JOINED = (
    "JoinGroup response: GenerationId {}, Protocol range, LeaderId orders-1-77aa{}, my MemberId orders-1-77aa, "
    "member metadata count {}: (no error)"
)
FRANZ = "2026-03-01T01:10:00.100Z [INFO] "
BROD = "01:10:00.100 [info] Group member (payments,coor=#PID<0.4032.0>,cb=#PID<0.4021.0>,generation={}):\n"
JOINS_OF_EACH_CLIENT: dict[str, tuple[str, ...]] = {
    "Java": (
        JAVA_INFO.format(
            0,
            "Successfully joined group with generation Generation{{generationId={}, memberId='orders-1-77aa', "
            "protocol='range'}}",
        ),
    ),
    "Java, its leader's assignment alone": (
        JAVA_INFO.format(
            0, "Finished assignment for group at generation {}: {{orders-1-77aa=Assignment(partitions=[orders-0])}}"
        ),
    ),
    "librdkafka": (
        RDKAFKA_DEBUG.format(0, "JOINGROUP", RDKAFKA_JOINED.format("{}", " (me)", 1)),
        RDKAFKA_DEBUG.format(0, "JOINGROUP", 'I am elected leader for group "payments" with 1 member(s)'),
    ),
    "kafka-python until 2.0": (
        PYTHON_INFO.format(0) + "Elected group leader -- performing partition assignments using range",
        PYTHON_INFO.format(0) + "Successfully joined group payments with generation {}",
    ),
    "kafka-python": (
        PYTHON_INFO.format(0)
        + "Successfully joined group payments <Generation {} (member_id: orders-1-77aa, protocol: range)>",
    ),
    "aiokafka": (PYTHON_INFO.format(0) + "Joined group 'payments' (generation {}) with member_id orders-1-77aa",),
    "franz-go": (
        FRANZ + "joined, balancing group; group: payments, member_id: orders-1-77aa, instance_id: <nil>, "
        "generation: {}, balance_protocol: range, leader: true",
    ),
    "kafka-go": ("2026/03/01 01:10:00 Joined group payments as member orders-1-77aa in generation {}",),
    "Sarama": (
        "[sarama] 2026/03/01 01:10:00 Initializing new client",
        "[sarama] 2026/03/01 01:10:00 client/coordinator coordinator for payments is #2 (b2.example.net:9092)",
        "[sarama] 2026/03/01 01:10:03 client/coordinator coordinator for payments is #2 (b2.example.net:9092)",
        "[sarama] 2026/03/01 01:20:00 consumergroup/session/sarama-77aa/{} released",
    ),
    "brod": (BROD + "elected=true",),
}


def startups(directory: Path, *lines: str) -> list[RootCause]:
    found = (i.root_causes[0] for i in incidents(directory, *lines))
    return [cause for cause in found if cause.cause == "startup"]


@pytest.mark.parametrize("client", JOINS_OF_EACH_CLIENT)
def test_each_client_that_joins_generation_1_shows_that_the_group_had_been_empty(tmp_path: Path, client: str) -> None:
    (started,) = startups(tmp_path, *(line.format(1) for line in JOINS_OF_EACH_CLIENT[client]))
    assert "do not show whether the group was empty" not in started.narrative
    # Only a leader counts the members; a client that joined knows of itself.
    counted = client in ("librdkafka", "Java, its leader's assignment alone")
    assert started.narrative == f"Group started: {'' if counted else 'at least '}one member joined."


@pytest.mark.parametrize("client", JOINS_OF_EACH_CLIENT)
def test_no_client_that_joins_a_later_generation_shows_that_the_group_had_been_empty(
    tmp_path: Path, client: str
) -> None:
    verdicts = startups(tmp_path, *(line.format(41) for line in JOINS_OF_EACH_CLIENT[client]))
    assert all("do not show whether the group was empty" in started.narrative for started in verdicts)


@pytest.mark.parametrize(("members", "startups_found"), [(1, 1), (3, 0)])
def test_a_new_leader_shows_an_empty_group_only_if_it_is_the_only_member(
    tmp_path: Path, members: int, startups_found: int
) -> None:
    refused = "Rejoining group without an assignment: JoinGroup error: Broker: Group member needs a valid member ID"
    verdicts = startups(
        tmp_path,
        RDKAFKA_DEBUG.format(
            0,
            "JOINGROUP",
            "JoinGroup response: GenerationId -1, Protocol , LeaderId , my MemberId orders-1-77aa, member metadata "
            "count 0: Broker: Group member needs a valid member ID",
        ),
        RDKAFKA_DEBUG.format(0, "REJOIN", f'Group "payments": {refused}'),
        RDKAFKA_DEBUG.format(3, "JOINGROUP", RDKAFKA_JOINED.format(41, " (me)", members)),
    )
    assert len(verdicts) == startups_found


def test_a_static_member_that_restarts_in_generation_1_does_not_start_the_group(tmp_path: Path) -> None:
    """KIP-345: the coordinator answers with the generation that the group already has."""
    line = (
        "[2026-03-01 01:10:00,100] INFO [Consumer instanceId=pod-3, clientId=orders-1, groupId=payments] Successfully "
        "joined group with generation Generation{generationId=1, memberId='pod-3-77aa', protocol='range'} "
        f"({COORDINATOR_CLASS})"
    )
    assert not startups(tmp_path, line)
