from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import rebalance_forensics as rf
from rebalance_forensics.events.rebalances import AssignmentComputed
from tests.diagnosis.closings import closes
from tests.diagnosis.expiries import evicted
from tests.kafka_words import Release
from tests.story import Side, Story, ms

UNKNOWN = (
    "Attempt to heartbeat with {} and group instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, "
    "resetting generation"
)


@pytest.mark.parametrize("release", [(2, 8), (3, 9), (4, 1)])
def test_a_process_that_resumes_with_an_unknown_member_id_was_paused(release: Release) -> None:
    story = evicted(release)
    story.client(
        "c-3",
        "01:10:20.000",
        UNKNOWN.format(f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"),
    )
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert story.causes() == ["process-pause"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().generations == (2, 3)


def test_a_leader_whose_log_is_late_lists_the_group_for_the_generation_that_it_names() -> None:
    story = evicted(seen="clients")
    story.events = [
        replace(e, at=e.at + 900) if isinstance(e, AssignmentComputed) and e.generation == 2 and e.at is not None else e
        for e in story.events
    ]
    story.client(
        "c-3",
        "01:10:20.000",
        UNKNOWN.format(f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"),
    )
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert story.causes() == ["process-pause"]
    assert story.the_incident().generations == (2, 3)


@pytest.mark.parametrize(("release", "by_default"), [((2, 8), "10 s"), ((3, 9), "45 s")])
def test_where_the_release_of_the_clients_is_known_so_is_their_default_session_timeout(
    release: Release, by_default: str
) -> None:
    story = evicted(release)
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    why = [advice.why for cause in story.the_incident().root_causes for advice in cause.advice]
    assert any(f"the session timeout is not in the logs (default {by_default})" in one for one in why), why


@pytest.mark.parametrize("seen", ["brokers"])
def test_brokers_alone_cannot_tell_a_pause_from_a_partition_and_say_so(seen: Side) -> None:
    story = evicted((3, 9), seen)
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    incident = story.the_incident()
    assert incident.root_causes[0].cause in {"process-pause", "network-partition", "process-crash"}
    assert incident.root_causes[0].confidence < 0.9
    assert story.case().gaps


def test_a_client_that_kept_logging_disconnects_was_not_paused() -> None:
    story = evicted((3, 9))
    for second in range(0, 18, 3):
        story.client(
            "c-3",
            f"01:09:{42 + second}.000" if second < 18 else "",
            "Group coordinator broker-2:9092 (id: 2147483645 "
            "rack: null) is unavailable or invalid due to cause: session timed out without receiving a heartbeat "
            "response. isDisconnected: false. Rediscovery will be attempted.",
        )
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert "process-pause" not in story.causes()


def test_a_member_that_was_back_before_its_process_was_restarted_had_been_paused_and_not_restarted() -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    expired = "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
    story.client("c-3", "01:10:20.000", expired)
    story.reborn("c-3").rebalanced("01:10:21.000", "", ["c-1", "c-2", "c-3"])
    story.started("c-3", "01:11:08.000")
    closes(story, "c-3", "01:11:09.000", ["c-1", "c-2"])
    story.rebalanced("01:11:12.000", "", ["c-1", "c-2", "c-3"])
    first = story.incidents()[0].root_causes[0]
    assert first.cause == "process-pause"
    assert "process of it started" not in first.narrative


def test_a_pause_that_the_log_of_the_member_shows_does_not_make_its_death_soon_after_another_pause() -> None:
    story = evicted((4, 1))
    old = f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"
    story.client("c-3", "01:10:20.000", UNKNOWN.format(old))
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    died = story.id_of("c-3")
    story.broker("01:13:20.000", story.words.failed(died))
    story.rebalanced("01:13:20.001", f"removing member {died} on heartbeat expiration", ["c-1", "c-2"])
    assert story.goes_on("01:13:35.000").causes() == ["process-pause", "process-crash"]


@pytest.mark.parametrize(("ages", "is_pause"), [((100, 3_100, 6_100), False), ((6_100,), True)])
def test_a_coordinator_that_answers_no_other_member_as_it_evicts_one_was_paused(
    ages: tuple[int, ...], *, is_pause: bool
) -> None:
    """Requests of several ages are those of a process that ran; one alone may have waited for its process."""
    story = evicted()
    for age in ages:
        story.client(
            "c-1",
            "01:09:59.500",
            "Cancelled in-flight HEARTBEAT request with correlation id 64 due to node 2147483645 being disconnected "
            f"(elapsed time since creation: {age}ms, elapsed time since send: {age}ms, request timeout: 30000ms)",
            logger="org.apache.kafka.clients.NetworkClient",
        )
    generation = f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"
    story.client("c-3", "01:10:20.000", UNKNOWN.format(generation))
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert ("process-pause" in story.causes()) == is_pause


def test_a_refusal_alone_does_not_say_that_the_session_expired(tmp_path: Path) -> None:
    refused = "Consumer error: kafka server: The provided member is not known in the current generation."
    (tmp_path / "app.log").write_text(f"2018/08/16 14:29:50 {refused}\n2018/08/16 14:29:53 {refused}\n")
    (incident,) = rf.analyze(tmp_path, engine="local").report.incidents
    assert incident.root_causes[0].narrative.startswith(
        "app.log was no longer a member (UNKNOWN_MEMBER_ID), as after session.timeout.ms without a heartbeat"
    )


@pytest.mark.parametrize(
    ("gathered", "is_sure"), [([], True), (["c-2", "c-3"], False), (["c-1", "c-2", "c-3", "broker-2"], True)]
)
def test_a_member_that_shares_its_file_with_a_running_one_was_not_certainly_paused(
    gathered: list[str], *, is_sure: bool
) -> None:
    """Readers of one process; where a broker writes to the file as well, the logs of several hosts were gathered."""
    story = evicted()
    story.client(
        "c-3", "01:10:20.000", UNKNOWN.format("Generation{generationId=1, memberId='c-3-77aa', protocol='range'}")
    )
    story.rebalanced("01:10:20.100", "Adding new member", ["c-1", "c-2", "c-3"])
    story.events = [
        replace(e, speaker=replace(e.speaker, file="all/app.log", host="all"))
        if e.speaker.file.split("/")[0] in gathered
        else e
        for e in story.events
    ]
    cause = story.the_incident().root_causes[0]
    assert (cause.cause, cause.confidence >= 0.75) == ("process-pause", is_sure)


def test_a_log_that_begins_after_the_eviction_does_not_show_a_paused_process() -> None:
    story = evicted((3, 9))
    generation = f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"
    story.client("c-3", "01:10:20.000", UNKNOWN.format(generation))
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    whole = story.the_incident().root_causes[0]
    rotated = ms("01:10:00.000")
    story.events = [e for e in story.events if "c-3" not in e.origin.path or (e.at or 0) > rotated]
    begun_late = story.the_incident().root_causes[0]
    assert whole.cause == "process-pause"
    assert whole.confidence >= 0.9
    assert begun_late.confidence < 0.75
