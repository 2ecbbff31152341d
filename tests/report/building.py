"""Reports to render: a crash in full detail, a run without a fault, many groups, and lines written to do harm."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import (
    Advice,
    ChainLink,
    Culprit,
    Gap,
    Impact,
    Incident,
    KnownBug,
    RootCause,
    RuledOut,
    Saving,
    SearchedLog,
    WhatIf,
)
from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.model import InputSummary, Report
from rebalance_forensics.timeline.model import (
    CoordinatorTerm,
    Evidence,
    Generation,
    GroupHistory,
    Identity,
    Lane,
    Leadership,
    Mark,
    Member,
    Participation,
    Pause,
    ProtocolTerm,
    Reading,
    RunningVersion,
    Span,
)

NOON = 1_772_359_200_000
"""2026-03-01T10:00:00.000Z."""

MEMBERS = tuple(f"payments-{number}-5b1c0000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))


def at(seconds: float) -> EpochMs:
    """Count seconds from the start of the logs."""
    return EpochMs(NOON + round(seconds * 1000))


def a_line(path: str, line: int, seconds: float, text: str) -> Evidence:
    """Quote a line of a log."""
    return Evidence(path=path, line=line, byte_offset=line * 120, timestamp=at(seconds), text=text)


FAILED = a_line(
    "broker-1/server.log",
    4711,
    131,
    f"[2026-03-01 10:02:11,000] INFO [GroupCoordinator 1]: Member {MEMBERS[1]} in group payments has failed, "
    "removing it from the group (kafka.coordinator.group.GroupCoordinator)",
)
PREPARING = a_line(
    "broker-1/server.log",
    4712,
    131.004,
    "[2026-03-01 10:02:11,004] INFO [GroupCoordinator 1]: Preparing to rebalance group payments in state "
    f"PreparingRebalance with old generation 7 (__consumer_offsets-13) (reason: removing member {MEMBERS[1]} on "
    "heartbeat expiration) (kafka.coordinator.group.GroupCoordinator)",
)
STABILIZED = a_line(
    "broker-1/server.log",
    4720,
    134.2,
    "[2026-03-01 10:02:14,200] INFO [GroupCoordinator 1]: Stabilized group payments generation 8 "
    "(__consumer_offsets-13) with 2 members (kafka.coordinator.group.GroupCoordinator)",
)
LAST_WORDS = a_line(
    "payments-2/app.log",
    812,
    86,
    "2026-03-01 10:01:26,000 DEBUG [consumer] Sending heartbeat to coordinator broker-1:9092 (id: 2147483646 rack: nu",
)


def a_member(number: int) -> Member:
    """One of the three consumers of group payments."""
    return Member(member_id=MEMBERS[number - 1], client_id=f"payments-{number}", host=f"/10.0.0.{number}")


def an_identity(number: int) -> Identity:
    """Say under which names a consumer of group payments goes."""
    return Identity(
        name=f"payments-{number}",
        kind="client",
        names=(MEMBERS[number - 1], f"payments-{number}", f"payments-{number}/app.log"),
        client_id=f"payments-{number}",
        member_ids=(MEMBERS[number - 1],),
        instance_id=None,
        process=None,
        thread="main",
        host=f"10.0.0.{number}",
        files=(f"payments-{number}/app.log",),
        started_at=at(2),
        ended_at=at(86) if number == 2 else None,
    )


def a_lane(number: int) -> Lane:
    """Draw how a consumer of group payments fared."""
    died = number == 2
    spans = [
        Span(started_at=at(2), ended_at=at(5), kind="joining", label="joins", generation=7),
        Span(started_at=at(5), ended_at=at(131), kind="member", label="generation 7", generation=7),
    ]
    if died:
        spans.append(Span(started_at=at(131), ended_at=None, kind="away", label="never came back"))
    else:
        spans += [
            Span(started_at=at(131.1), ended_at=at(134.3), kind="paused", label="3 partitions revoked", generation=8),
            Span(started_at=at(134.2), ended_at=None, kind="member", label="generation 8", generation=8),
        ]
    marks = (
        [Mark(at=at(131), kind="member-failed", label="session expired", severity="fault", evidence=FAILED)]
        if died
        else [Mark(at=at(134.2), kind="stabilized", label="stabilized", severity="plain", evidence=STABILIZED)]
    )
    return Lane(name=f"payments-{number}", kind="client", spans=tuple(spans), marks=tuple(marks))


def a_broker_lane() -> Lane:
    """Draw what the coordinator did."""
    return Lane(
        name="broker-1",
        kind="broker",
        spans=(Span(started_at=at(0), ended_at=None, kind="coordinating", label="coordinates payments"),),
        marks=(
            Mark(at=at(131.004), kind="rebalance-started", label="rebalance", severity="notice", evidence=PREPARING),
        ),
    )


def a_reading() -> Reading:
    """Read the two rebalances of group payments."""
    everybody = ("payments-1", "payments-2", "payments-3")
    return Reading(
        leadership=Leadership(stable=True),
        participants=(
            Participation(generation=7, at=at(2), leader="payments-1", members=everybody),
            Participation(
                generation=8,
                at=at(131.004),
                leader="payments-1",
                members=("payments-1", "payments-3"),
                missing=("payments-2",),
            ),
        ),
    )


def running(*versions: tuple[str, str]) -> tuple[RunningVersion, ...]:
    return tuple(RunningVersion(name=name, version=version) for name, version in versions)


def payments() -> GroupHistory:
    """Tell how group payments lost one of three members."""
    return GroupHistory(
        group="payments",
        cluster="prod",
        kind="consumer",
        protocol="classic",
        protocols=(ProtocolTerm(protocol="classic", started_at=at(2), ended_at=None),),
        rebalance_mode="eager",
        coordinators=(CoordinatorTerm(broker="broker-1", started_at=at(0), ended_at=None),),
        generations=(
            Generation(
                generation=7,
                started_at=at(2),
                completed_at=at(5),
                trigger="startup",
                leader=MEMBERS[0],
                members=tuple(a_member(number) for number in (1, 2, 3)),
                joined=MEMBERS,
                outcome="stable",
                reason="Adding new member payments-1 with group instance id None",
            ),
            Generation(
                generation=8,
                started_at=at(131.004),
                completed_at=at(134.2),
                trigger="process-crash",
                leader=MEMBERS[0],
                members=(a_member(1), a_member(3)),
                left=(MEMBERS[1],),
                outcome="stable",
                reason=f"removing member {MEMBERS[1]} on heartbeat expiration",
            ),
        ),
        pauses=tuple(
            Pause(
                client_id=f"payments-{number}",
                member_id=MEMBERS[number - 1],
                started_at=at(131.1),
                ended_at=at(134.3),
                partitions=tuple(f"orders-{partition}" for partition in range(number, 12, 4)),
                kind="revoked",
            )
            for number in (1, 3)
        ),
        identities=tuple(an_identity(number) for number in (1, 2, 3)),
        lanes=(a_broker_lane(), *(a_lane(number) for number in (1, 2, 3))),
        settings=(("max.poll.interval.ms", "300000"), ("session.timeout.ms", "45000")),
        versions=running(("broker-1", "3.9.1"), ("payments-2", "3.7.0")),
        reading=a_reading(),
    )


def the_neighbours() -> tuple[RuledOut, ...]:
    """Rule out what looks like a crash: once by a search, once by a line."""
    return (
        RuledOut(
            cause="process-pause",
            why="it was not seen again by the end of the logs",
            sign="not-back-yet",
            looked_in=(SearchedLog(path="broker-1/server.log", started_at=at(131), ended_at=at(600)),),
        ),
        RuledOut(
            cause="network-partition",
            why="its own log does not continue",
            sign="own-log-continues",
            evidence=(LAST_WORDS,),
        ),
    )


THE_COST = Impact(
    unread_partition_ms=9_000,
    unread_partitions=4,
    known_partitions=12,
    longest_unread_ms=4_000,
    longest_unread_partition="orders-3",
    stopped_ms=3_200,
    pause_ms=6_400,
    members=3,
    partitions=12,
    rebalances=1,
)


def a_crash() -> Incident:
    """Blame consumer payments-2, which died without leaving."""
    return Incident(
        id="3f9a2c11d4e5",
        group="payments",
        cluster="prod",
        started_at=at(131),
        ended_at=at(134.3),
        ongoing=False,
        severity="warning",
        summary="Consumer payments-2 died without leaving; broker-1 removed it after its session timeout of 45 s.",
        root_causes=(
            RootCause(
                cause="process-crash",
                confidence=0.97,
                culprits=(Culprit(kind="client", name="payments-2", names=(MEMBERS[1], "payments-2", "10.0.0.2")),),
                narrative="Consumer payments-2 died without leaving; broker-1 removed it after its session timeout of "
                "45 s.",
                evidence=(LAST_WORDS, FAILED, PREPARING, STABILIZED),
                evidence_total=9,
                advice=(
                    Advice(
                        action="Find out what killed payments-2 at 10:01:26 (OOM killer, eviction, kill -9).",
                        why="Its log ends without a stack trace and without closing the consumer.",
                    ),
                    Advice(
                        action="Give it a group.instance.id, and restart it within session.timeout.ms.",
                        why="A static member that comes back in time causes no rebalance.",
                        cost="Its partitions stand still until it is back.",
                    ),
                ),
                known_bugs=(KnownBug(jira="KAFKA-14024", title="Consumer stuck while committing", fixed_in="3.2.1"),),
                chain=(
                    ChainLink(at=at(86), what="payments-2 writes its last line", evidence=LAST_WORDS),
                    ChainLink(at=at(131), what="broker-1 gives up on payments-2", evidence=FAILED),
                    ChainLink(at=at(131.004), what="generation 8 begins", evidence=PREPARING),
                    ChainLink(at=at(134.2), what="generation 8 is stable with two members", evidence=STABILIZED),
                ),
            ),
        ),
        ruled_out=the_neighbours(),
        generations=(8,),
        impact=THE_COST,
        what_if=(
            WhatIf(
                alternative="cooperative rebalancing",
                unread=Saving(low=-14_000, likely=-9_500, high=-4_000),
                stopped=Saving(low=5_900, likely=6_400, high=7_100),
                explanation="Simulated with the faults of this incident (1 died) and batches of 1.6 s to 2.4 s.",
            ),
        ),
    )


def a_startup() -> Incident:
    """Group payments forms; nobody is to blame."""
    return Incident(
        id="00aa11bb22cc",
        group="payments",
        cluster="prod",
        started_at=at(2),
        ended_at=at(5),
        ongoing=False,
        severity="info",
        summary="Group payments formed with three members.",
        root_causes=(
            RootCause(
                cause="startup",
                confidence=0.99,
                culprits=(Culprit(kind="group", name="payments"),),
                narrative="Group payments formed with three members.",
                evidence=(a_line("broker-1/server.log", 4000, 5, "Stabilized group payments generation 7"),),
                evidence_total=1,
            ),
        ),
        generations=(7,),
        impact=Impact(pause_ms=0, members=3, partitions=12, rebalances=1),
    )


def an_input(path: str, component: str, *, errors: tuple[str, ...] = ()) -> InputSummary:
    """Say what was read of a file."""
    return InputSummary(
        path=path,
        cluster="prod",
        host=path.split("/", maxsplit=1)[0],
        component=component,
        kafka_version="3.9.1",
        layout="log4j",
        envelope="none",
        zone="UTC",
        clock_skew_ms=0,
        bytes=1_234_567,
        lines=10_204,
        records=10_111,
        matched=88,
        unmatched_kafka=2,
        unparsed=1,
        first=at(0),
        last=at(600),
        errors=errors,
    )


def crash_report() -> Report:
    """One crash beside a startup, with a gap and a file that was cut."""
    return Report(
        tool_version="1.0.0",
        inputs=(
            an_input("broker-1/server.log", "broker"),
            an_input("payments-1/app.log", "client"),
            an_input("payments-2/app.log", "client", errors=("the gzip ends early; what stands before it was read",)),
        ),
        groups=(payments(),),
        incidents=(a_startup(), a_crash()),
        gaps=(
            Gap(
                what="No log of consumer payments-3.",
                started_at=None,
                ended_at=None,
                consequence="Its pause is known from the broker only.",
            ),
        ),
    )


def healthy_report() -> Report:
    """Tell of a group that formed and stayed."""
    history = payments()
    return replace(
        crash_report(),
        groups=(replace(history, generations=history.generations[:1], pauses=(), lanes=()),),
        incidents=(a_startup(),),
        gaps=(),
    )


def empty_report() -> Report:
    """Tell of logs without one group."""
    return Report(
        tool_version="1.0.0", inputs=(an_input("broker-1/server.log", "broker"),), groups=(), incidents=(), gaps=()
    )
