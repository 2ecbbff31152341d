"""What Go's clients log of a group, and what coordinators log of members under default client ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.other_clients import (
    ANOTHER,
    COORDINATOR,
    DENIED,
    FIRST_ID,
    KGO,
    RDKAFKA,
    REBALANCE,
    SECOND_ID,
    SEGMENTIO,
    STABLE,
    causes,
    fails,
    incidents,
    joins,
    kafka_go,
)


def after_a_rejoin(directory: Path, reason: str) -> tuple[Incident, ...]:
    """The incidents of a group whose leader rejoins for this reason."""
    rejoins = f"Leader {KGO} re-joining group during Stable; client reason: {reason}"
    return incidents(
        directory,
        COORDINATOR.format(0, STABLE.format(4)),
        COORDINATOR.format(20, REBALANCE.format(4, rejoins)),
        COORDINATOR.format(21, STABLE.format(5)),
    )


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("after revoking what we lost from a rebalance", None),
        ("rejoining after we previously errored and backed off", None),
        ("rejoining because we are the leader and noticed some topics have new partitions", "topic-metadata-change"),
        ("partitions were added to a subscribed topic", "topic-metadata-change"),
        ("topics purged from consuming", "subscription-change"),
        ("offset commit error: UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.", None),
        ("group is rebalancing", None),
        ("the heartbeat goroutine has stopped", None),
    ],
)
def test_a_reason_that_franz_go_or_sarama_sends_by_itself_enforces_no_rebalance(
    tmp_path: Path, reason: str, cause: str | None
) -> None:
    found = after_a_rejoin(tmp_path, reason)
    found_causes = {each.cause for incident in found for each in incident.root_causes}
    assert "enforced-rebalance" not in found_causes
    assert cause is None or cause in found_causes


def test_a_franz_go_application_that_calls_force_rebalance_enforces_one(tmp_path: Path) -> None:
    found = after_a_rejoin(tmp_path, "from ForceRebalance")
    assert found[-1].root_causes[0].cause == "enforced-rebalance"


def test_the_name_that_an_application_gives_kafka_gos_logger_is_no_host(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(
        "\n".join([
            kafka_go(0, f"Joined group payments as member {FIRST_ID} in generation 2"),
            kafka_go(9, "Failed to join group payments: [25] Unknown Member ID: the member id is not in the current "
                     "generation", "kafka reader error"),
            kafka_go(10, f"Joined group payments as member {SECOND_ID} in generation 4"),
        ]), encoding="utf-8",
    )  # fmt: skip
    report = analyze([str(tmp_path)], AnalyzeOptions(engine="local"))
    assert "kafka" not in {read.host for read in report.inputs}
    assert report.incidents[-1].root_causes[0].cause == "process-pause"


def test_kafka_go_says_that_it_leaves_when_it_gives_up_after_an_error(tmp_path: Path) -> None:
    found = incidents(
        tmp_path,
        kafka_go(0, f"Joined group payments as member {FIRST_ID} in generation 2"),
        kafka_go(9, "Unable to establish connection to consumer group coordinator for group payments: EOF"),
        kafka_go(9, f"Leaving group payments, member {FIRST_ID}"),
        kafka_go(12, f"Joined group payments as member {SECOND_ID} in generation 3"),
    )
    found_causes = {cause.cause for incident in found for cause in incident.root_causes}
    assert not {"member-left", "scale-in", "shutdown"} & found_causes


def test_a_newcomer_that_has_left_again_takes_nobodys_place(tmp_path: Path) -> None:
    third = "rdkafka-0000c1b2-1111-4c22-9d3a-aabbccddeeff"
    leaving = f"Removing member {RDKAFKA} on LeaveGroup; client reason: not provided"
    found = incidents(
        tmp_path,
        *(line.replace("Stable state", "Empty state") for line in joins(0, ANOTHER, 0)),
        COORDINATOR.format(1, STABLE.format(1).replace("2 members", "1 members")),
        *joins(14, RDKAFKA, 1), COORDINATOR.format(17, STABLE.format(2)),
        COORDINATOR.format(32, REBALANCE.format(2, leaving)),
        COORDINATOR.format(32, f"Member MemberMetadata(memberId={RDKAFKA}, groupInstanceId=None, clientId=rdkafka, "
                           "clientHost=/10.0.0.1, sessionTimeoutMs=10000, rebalanceTimeoutMs=20000, "
                           "supportedProtocols=List(range)) has left group payments through explicit `LeaveGroup`; "
                           "client reason: not provided"),
        COORDINATOR.format(33, STABLE.format(3).replace("2 members", "1 members")),
        *joins(40, third, 3), COORDINATOR.format(43, STABLE.format(4)),
        *fails(58, third, 4), *fails(59, ANOTHER, 5),
    )  # fmt: skip
    assert "rolling-restart" not in causes(found)


def test_a_broker_that_reloads_its_own_group_hands_it_to_no_other_broker(tmp_path: Path) -> None:
    loaded = (
        "[2026-03-01 01:10:{:02},100] INFO [GroupCoordinator 1]: Loading group metadata for payments with generation 4 "
        "(kafka.coordinator.group.GroupCoordinator)"
    )
    (incident,) = (
        i
        for i in incidents(
            tmp_path,
            COORDINATOR.format(0, STABLE.format(4)),
            loaded.format(40),
            COORDINATOR.format(44, REBALANCE.format(4, f"removing member {KGO} on heartbeat expiration")),
            COORDINATOR.format(45, STABLE.format(5)),
        )
        if i.root_causes[0].cause == "coordinator-failover"
    )
    assert "took it over again" in incident.root_causes[0].narrative
    assert "another broker" not in incident.root_causes[0].narrative


def test_a_log_without_times_next_to_one_with_times_is_not_from_1970(tmp_path: Path) -> None:
    (tmp_path / "client.log").write_text(f"WARNING:kafka.coordinator:{DENIED}\n" * 3, encoding="utf-8")
    found = incidents(tmp_path, *fails(10, RDKAFKA, 4), COORDINATOR.format(12, STABLE.format(5)))
    assert all(i.started_at is None or i.started_at > 1_700_000_000_000 for i in found)


def test_a_member_id_with_blanks_and_brackets_is_read_in_a_coordinators_reason(tmp_path: Path) -> None:
    found = incidents(tmp_path, *fails(10, FIRST_ID, 4), COORDINATOR.format(12, STABLE.format(5)))
    assert [culprit.name for culprit in found[0].root_causes[0].culprits] == [FIRST_ID.removesuffix(KGO[3:])]
    report = analyze([str(tmp_path)], AnalyzeOptions(engine="local"))
    assert sum(read.unmatched_kafka for read in report.inputs) == 0


def reads(minute: int, *joining: str, generation: int) -> list[str]:
    """One rebalance in the log of a process; kafka-go's readers print a member id in some of their lines."""
    leader = joining[0]
    return [
        kafka_go(minute, f"joined group payments as member {leader} in generation {generation}"),
        kafka_go(minute, "selected as leader for group, payments"),
        *(kafka_go(minute, f"found member: {member}/[]byte(nil)") for member in joining),
        *(kafka_go(minute, f"Joined group payments as member {member} in generation {generation}")
          for member in joining),
        *(kafka_go(minute, "sync group finished for group, payments") for _ in joining),
    ]  # fmt: skip


@pytest.mark.parametrize("timed", [True, False], ids=["with times", "without"])
def test_two_readers_of_one_process_are_two_members(tmp_path: Path, timed: bool) -> None:  # noqa: FBT001
    lines = [
        *reads(0, FIRST_ID, generation=1),
        *reads(1, FIRST_ID, SECOND_ID, generation=2),
        kafka_go(20, f"Leaving group payments, member {SECOND_ID}"),
        *reads(21, FIRST_ID, generation=3),
    ]
    lines = lines if timed else [line.removeprefix("kafka reader: ")[20:] for line in lines]
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = analyze([str(tmp_path)], AnalyzeOptions(engine="local"))
    (group,) = report.groups
    assert {identity.member_ids for identity in group.identities} == {(FIRST_ID,), (SECOND_ID,)}
    assert [len(generation.members) for generation in group.generations] == [1, 2, 1]
    assert "1 of 1" not in report.incidents[-1].root_causes[0].narrative


def test_a_reader_that_rejoins_after_an_error_is_one_member(tmp_path: Path) -> None:
    lines = [*reads(0, FIRST_ID, generation=1), *reads(9, SECOND_ID, generation=3)]
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (group,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).groups
    assert [set(identity.member_ids) for identity in group.identities] == [{FIRST_ID, SECOND_ID}]


def test_a_start_that_names_no_member_in_a_log_of_several_is_that_of_the_member_that_gets_an_id(
    tmp_path: Path,
) -> None:
    """kafka-go prints whole seconds, and a member id only once it has joined."""
    again = SEGMENTIO.format("3aac949e-836d-44fe-8275-7c9d429af88e")
    (tmp_path / "node-1").mkdir()
    (tmp_path / "node-1" / "app.log").write_text("\n".join(
        f"2026/03/01 01:10:{second:02} {message}" for second, message in (
            (0, "entering loop for consumer group, payments"),
            (0, "entering loop for consumer group, payments"),
            (4, f"joined group payments as member {FIRST_ID} in generation 1"),
            (4, f"joined group payments as member {SECOND_ID} in generation 1"),
            *((second, "committed offsets for group payments: ") for second in range(5, 33)),
            (33, "entering loop for consumer group, payments"),
            (35, f"joined group payments as member {FIRST_ID} in generation 3"),
            (35, f"joined group payments as member {again} in generation 3"),
            *((second, "committed offsets for group payments: ") for second in range(36, 56)),
        )
    ) + "\n", encoding="utf-8")  # fmt: skip
    (tmp_path / "broker-1").mkdir()
    (tmp_path / "broker-1" / "server.log").write_text("\n".join([
        *(line.replace("Stable state", "Empty state") for line in joins(0, FIRST_ID, 0)), *joins(1, SECOND_ID, 0),
        COORDINATOR.format(4, STABLE.format(1)),
        *fails(22, SECOND_ID, 1), COORDINATOR.format(24, STABLE.format(2).replace("2 members", "1 members")),
        *joins(33, again, 2), COORDINATOR.format(35, STABLE.format(3)),
    ]) + "\n", encoding="utf-8")  # fmt: skip
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert [i.root_causes[0].cause for i in found if i.severity != "info"] == ["process-crash"]


def franz_go(minute: int, second: float, message: str) -> str:
    """A line of a franz-go client's logger as log/slog writes it."""
    return f"time=2026-11-28T09:{minute:02}:{second:06.3f}Z level=INFO {message}\n"


def first_session(client: str) -> str:
    """What a franz-go client logs of its first generation."""
    return "".join(
        (
            franz_go(14, 26.5, 'msg="joining group" group=frz'),
            franz_go(
                14,
                26.6,
                'msg="join returned MemberIDRequired, rejoining with response\'s MemberID" group=frz '
                f"member_id={client}-06968ff4-817d-43ed-975d-abf70665316f",
            ),
            franz_go(
                14,
                32.7,
                f"msg=joined group=frz member_id={client}-06968ff4-817d-43ed-975d-abf70665316f instance_id=<nil> "
                f"generation=1 leader={str(client == 'frz-1').lower()}",
            ),
            franz_go(14, 32.8, 'msg=synced group=frz assigned="fa[0 3]"'),
        )
    )


def removed_in_its_callback(client: str) -> str:
    """It flushes in OnPartitionsRevoked for longer than the rebalance timeout, and is removed meanwhile."""
    waits = 'msg="heartbeat errored again while waiting for user revoke to finish" group=frz err='
    rebalancing = '"REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed."'
    unknown = "UNKNOWN_MEMBER_ID: The coordinator is not aware of this member."
    ended = f'msg="group manage loop errored" group=frz err="{unknown}" consecutive_errors=1 backoff=239.103691ms'
    return "".join(
        (
            first_session(client),
            franz_go(15, 15.4, f'msg="heartbeat errored" group=frz err={rebalancing}'),
            *(franz_go(15, second, waits + rebalancing) for second in (18.4, 21.4, 24.4, 27.4)),
            *(franz_go(15, second, f'{waits}"{unknown}"') for second in (30.4, 33.4, 36.4, 39.4, 42.5)),
            franz_go(15, 45.4, ended),
            franz_go(15, 45.7, 'msg="joining group" group=frz'),
            franz_go(
                15,
                47.5,
                f"msg=joined group=frz member_id={client}-2094d33c-4644-48dd-b79c-ecc7404618b3 instance_id=<nil> "
                "generation=3 leader=false",
            ),
            franz_go(15, 47.6, 'msg=synced group=frz assigned=""'),
        )
    )


def newcomer() -> str:
    """A franz-go client that joins and has to wait until the others have been removed."""
    member = "frz-3-7460a504-1d30-4f8d-a9e4-5b90397cff77"
    return "".join(
        (
            franz_go(15, 13.8, 'msg="joining group" group=frz'),
            franz_go(
                15,
                13.9,
                'msg="join returned MemberIDRequired, rejoining with response\'s MemberID" group=frz '
                f"member_id={member}",
            ),
            franz_go(15, 28.9, f"msg=joined group=frz member_id={member} instance_id=<nil> generation=2 leader=true"),
            franz_go(15, 29.0, 'msg=synced group=frz assigned="fa[0-3]"'),
        )
    )


@pytest.mark.parametrize("newcomers", [0, 1])
def test_a_franz_go_client_that_is_removed_during_its_callback_held_up_the_rebalance(
    tmp_path: Path, newcomers: int
) -> None:
    logs = {"frz-1": removed_in_its_callback("frz-1")} | ({"frz-3": newcomer()} if newcomers else {})
    for client, text in logs.items():
        (tmp_path / client).mkdir()
        (tmp_path / client / "app.log").write_text(text)
    causes_found = [
        c for i in analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents for c in i.root_causes
    ]
    (late,) = [cause for cause in causes_found if cause.cause == "rebalance-straggler"]
    assert [culprit.name for culprit in late.culprits] == ["frz-1"]
    assert late.confidence >= 0.75
