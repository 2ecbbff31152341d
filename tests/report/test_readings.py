from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.report.rebalance_patterns import in_brief, plain, readings_of
from rebalance_forensics.timeline.model import (
    Burst,
    FailedAttempt,
    GroupHistory,
    LeaderChange,
    Leadership,
    Participation,
    Reading,
    Spacing,
)
from tests.report.building import a_line, at, payments

EVERYBODY = ("payments-1", "payments-2", "payments-3")
SYNC = a_line("payments-2/app.log", 40, 61, "SyncGroup failed")


def history_with(reading: Reading) -> GroupHistory:
    return replace(payments(), reading=reading)


def rounds(*leaders: str | None) -> tuple[Participation, ...]:
    return tuple(
        Participation(generation=7 + n, at=at(60 * n), leader=leader, members=EVERYBODY)
        for n, leader in enumerate(leaders)
    )


def sentences(history: GroupHistory, title: str) -> list[str]:
    passages = dict(readings_of(history).parts())[title]
    return [plain(text) for passage in passages for text in (passage.sentence, *passage.details)]


def test_a_leader_that_stays_is_described_in_one_sentence_with_the_unknown_facts() -> None:
    history = history_with(
        Reading(leadership=Leadership(stable=True), participants=rounds("payments-1", None, "payments-1"))
    )
    assert sentences(history, "Who led") == ["payments-1 led 2 rebalances; the logs do not name the leader of 1 more."]


def test_changing_leaders_are_listed_with_the_generations_that_each_led() -> None:
    change = LeaderChange(generation=8, at=at(60), before="payments-1", after="payments-2", former_took_part=True)
    history = history_with(
        Reading(leadership=Leadership(stable=False, changes=(change,)), participants=rounds("payments-1", "payments-2"))
    )
    assert sentences(history, "Who led") == [
        "Leadership moved once in 2 rebalances, while the former leader was still a member.",
        "payments-1 led generation 7",
        "payments-2 led generation 8",
    ]


def test_there_is_no_leader_if_the_coordinator_assigns() -> None:
    history = replace(history_with(Reading(participants=rounds(None, None))), rebalance_mode="server-side")
    assert sentences(history, "Who led") == ["Nobody: under this protocol the coordinator assigns."]


def test_a_burst_tells_why_each_began_and_what_failed_how_often() -> None:
    failed = FailedAttempt(
        at=at(61),
        who="payments-2",
        api="SyncGroup",
        generation=7,
        error="REBALANCE_IN_PROGRESS",
        why="another rebalance had begun",
        evidence=SYNC,
        times=3,
    )
    burst = Burst(
        generations=(7, 8),
        started_at=at(60),
        ended_at=at(62),
        rebalances=2,
        reasons=("a cooperative follow-up of the rebalance before",),
        failures=(failed,),
    )
    assert sentences(history_with(Reading(close_together=(burst,))), "Bursts") == [
        (
            "2 rebalances within 2 s from 10:01:00.000 (generations 7-8); 3 JoinGroup or SyncGroup requests failed "
            "in between."
        ),
        "generation 8 began: a cooperative follow-up of the rebalance before",
        (
            "SyncGroup of payments-2 failed at 10:01:01.000 with REBALANCE_IN_PROGRESS, 3 times: "
            "another rebalance had begun (payments-2/app.log:40)"
        ),
    ]


def test_even_gaps_of_one_setting_are_one_rhythm() -> None:
    gaps = tuple(
        Spacing(
            from_generation=number,
            to_generation=number + 1,
            at=at(60 * number),
            gap_ms=60_000 + 1_000 * number,
            setting="max.poll.interval.ms",
            value_ms=60_000,
            configured=True,
            evenly=True,
            why="payments-2 did not call poll()",
        )
        for number in range(1, 4)
    )
    assert sentences(history_with(Reading(spacings=gaps)), "Time between rebalances") == [
        (
            "Generations 1 to 4: 3 regular intervals of 1 min 01 s to 1 min 03 s, "
            "which matches max.poll.interval.ms (60000 ms in the logs)."
        ),
        "payments-2 did not call poll()",
    ]


def test_missing_new_and_renewed_members_are_listed_for_each_rebalance_that_changed_them() -> None:
    first, second, third = rounds(None, None, None)
    changed = replace(second, members=EVERYBODY[:2], missing=EVERYBODY[2:])
    history = history_with(
        Reading(participants=(first, changed, replace(third, new=EVERYBODY[2:], renewed=EVERYBODY[:1])))
    )
    assert sentences(history, "Who took part") == [
        "3 members in generation 7 at 10:00:00.000: payments-1, payments-2 and payments-3.",
        "Generation 8 at 10:01:00.000: 2 members; missing: payments-3.",
        "Generation 9 at 10:02:00.000: 3 members; back: payments-3; back under a new id: payments-1.",
    ]
    assert dict(in_brief(history))["Members"] == (
        "2 to 3 members seen; out and back: payments-3; back under a new id: payments-1."
    )


def test_a_streams_leaders_counts_are_used_if_no_line_names_the_members() -> None:
    counted = tuple(replace(one, members=None, clients=2, consumers=4) for one in rounds(None, None))
    assert sentences(history_with(Reading(participants=counted)), "Who took part") == [
        "2 clients with 4 consumers each time, as the leader counted."
    ]


def test_of_a_single_rebalance_nothing_is_read() -> None:
    assert not list(in_brief(history_with(Reading(participants=rounds("payments-1")))))
