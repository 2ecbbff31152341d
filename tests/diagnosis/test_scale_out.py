from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

import rebalance_forensics as rf
from tests.diagnosis.closings import closes, comes
from tests.diagnosis.statics import said_by_static
from tests.kafka_words import Release
from tests.story import Side, Story, clock, ms


@pytest.mark.parametrize("release", [(2, 4), (2, 8), (3, 9), (4, 1)])
def test_a_newcomer_is_a_scale_out(release: Release) -> None:
    story = comes(Story(release=release).formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    assert story.causes() == ["scale-out"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "info"
    assert story.the_incident().generations == (2,)


@pytest.mark.parametrize("release", [(2, 4), (2, 6), (2, 8), (3, 9)])
@pytest.mark.parametrize("seen", ["brokers", "clients"])
def test_one_side_is_enough(release: Release, seen: Side) -> None:
    story = comes(Story(release=release, seen=seen).formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    assert story.causes() == ["scale-out"]


def test_a_member_that_was_there_before_is_no_newcomer() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    comes(story, "c-3", "01:10:08.000", ["c-1", "c-2", "c-3"])
    assert "scale-out" not in story.causes()


def test_forming_from_empty_is_no_scale_out() -> None:
    assert Story().formed("c-1", "c-2", "c-3").causes() == []


def test_a_newcomer_that_does_not_lead_came_to_others_whose_logs_are_missing() -> None:
    story = comes(Story(seen="clients").formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    story.events = [e for e in story.events if e.speaker.file == "c-3/app.log"]
    assert [i.root_causes[0].cause for i in story.case().incidents] == ["scale-out"]


@pytest.mark.parametrize("off_ms", [-35_000, 35_000])
def test_a_host_whose_clock_is_off_adds_no_member_to_a_generation_that_all_joined_together(off_ms: int) -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    story.rebalanced("01:00:15.000", "Leader c-1 re-joining group during Stable", ["c-1", "c-2", "c-3"])
    for client in ("c-2", "c-3"):
        story.client(client, "01:10:00.000", "Revoke previously assigned partitions orders-1")
    others = [e for e in story.events if e.speaker.client_id != "c-1"]  # the leader's log names all members
    story.events = [replace(e, at=(e.at or 0) + off_ms) if e.speaker.client_id == "c-3" else e for e in others]
    (scaled,) = (c for i in story.incidents() for c in i.root_causes if c.cause == "scale-out")
    assert scaled.confidence < 0.75


def static_generation(story: Story, at: int, generation: int, numbers: Sequence[int]) -> None:
    """Static members join; the leader, c-1, lists them and gives each one partition."""
    ids = {n: story.id_of(f"pod-{n}") for n in numbers}
    shares = ", ".join(f"{member}=Assignment(partitions=[orders-{n}])" for n, member in ids.items())
    own = [(n, story.of(f"c-{n}"), member) for n, member in ids.items()]
    lines = [(n, 0 if n == 1 else 8, words.joined(generation, member)) for n, words, member in own]
    lines += [(1, 5, own[0][1].prefixed(f"Finished assignment for group at generation {generation}: {{{shares}}}"))]
    lines += [(n, 10, words.synced(generation, member) or "") for n, words, member in own]
    lines += [(n, 12, words.prefixed(f"Adding newly assigned partitions: orders-{n}")) for n, words, member in own]
    for n, later, line in lines:
        said_by_static(story, f"c-{n}", f"pod-{n}", clock(at + later), line.split("] ", 1)[1])


def test_a_static_member_is_new_where_its_own_log_begins_as_the_leader_lists_it() -> None:
    story = Story(seen="clients", release=(4, 1))
    for n in (1, 2):
        story.started(f"c-{n}", "00:59:58.000", group_instance_id=f"pod-{n}")
        said_by_static(story, f"c-{n}", f"pod-{n}", "00:59:59.000", "(Re-)joining group")
    static_generation(story, ms("01:00:03.000"), 1, (1, 2))
    story.started("c-3", "01:10:00.000", group_instance_id="pod-3")
    said_by_static(story, "c-3", "pod-3", "01:10:00.200", "(Re-)joining group")
    static_generation(story, ms("01:10:03.000"), 2, (1, 2, 3))
    assert story.causes() == ["scale-out"]
    assert story.the_incident().root_causes[0].confidence >= 0.75


ADDED = (
    "Preparing to rebalance group payments in state PreparingRebalance with old generation 1 (__consumer_offsets-0) "
    "(reason: Adding new member c-4-85cf with group instance id None; client reason: not provided)"
)
PICKED = f"""[GroupCoordinator 2]: {ADDED}
[Consumer clientId=c-2, groupId=payments] (Re-)joining group
[GroupCoordinator 2]: Stabilized group payments generation 2 (__consumer_offsets-0) with 4 members
"""


def test_three_picked_lines_do_not_prove_that_a_member_is_new(tmp_path: Path) -> None:
    (tmp_path / "ticket.txt").write_text(PICKED)
    report = json.loads(rf.analyze(tmp_path, engine="local").to_json())
    causes = [incident["root_causes"][0] for incident in report["incidents"]]
    (added,) = [cause for cause in causes if cause["cause"] == "scale-out"]
    assert added["confidence"] < 0.9
    assert added["narrative"] == "A member joined the group; this excerpt does not show who was in the group before."


def newcomer_in_logs_that_begin(time: str) -> Story:
    """c-3 joins at 01:10:00; what was logged before a time is missing."""
    story = comes(Story().formed("c-1", "c-2").goes_on(time), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    story.events = [e for e in story.events if (e.at or 0) >= ms(time)]
    return story


@pytest.mark.parametrize(("begin", "confidence"), [("01:09:50.000", 0.55), ("01:02:00.000", 0.9)])
def test_who_comes_soon_after_the_logs_begin_may_have_gone_just_before(begin: str, confidence: float) -> None:
    (found,) = (i.root_causes[0] for i in newcomer_in_logs_that_begin(begin).case().incidents)
    assert (found.cause, found.confidence) == ("scale-out", confidence)


def test_who_loses_partitions_before_it_joins_is_no_newcomer() -> None:
    story = Story().formed("c-1", "c-2", "c-3").goes_on("01:09:50.000")
    lost = "Giving away all assigned partitions as lost since generation/memberID has been reset,indicating that "
    story.client("c-3", "01:09:59.900", f"{lost}consumer is in old state or no longer part of the group")
    story.reborn("c-3").rebalanced("01:10:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    story.events = [e for e in story.events if (e.at or 0) >= ms("01:09:50.000")]
    assert "scale-out" not in story.causes()


COORDINATOR = "[GroupCoordinator id=3 topic=__consumer_offsets partition=2]"
FORMED = """\
Stabilized group ledger generation 1 with 2 members.
Assignment received from leader c-1-5745ed2a-adc3-48ac-8852-e789a8a3e573 for group ledger for generation 1. The group \
has 2 members, 0 of which are static."""
JOINS_A_STABLE_GROUP = """\
[GroupId ledger] Dynamic member with unknown member id joins group ledger in Stable state. Created a new member id \
c-9-3c70cb72-0d32-4852-a8ed-316d8a521c0f and request the member to rejoin with this id.
Preparing to rebalance group ledger in state PreparingRebalance with old generation 1 (reason: Adding new member \
c-9-3c70cb72-0d32-4852-a8ed-316d8a521c0f with group instance id null)."""
CONVERTED = """\
[Group ledger] Member c-1-5745ed2a-adc3-48ac-8852-e789a8a3e573 has left group through explicit `LeaveGroup` request; \
client reason: the consumer is being closed
[GroupId ledger] Converted the classic group to a consumer group.
[GroupId ledger] Member NyAFAdoDRdGmrLwzQejKnQ joins the consumer group using the consumer protocol.
[GroupId ledger] Bumped group epoch to 3 with metadata hash -3632946461387847577.
[GroupId ledger] Member c-2-d0df48ee-4587-4926-8a78-cb9e327fc5d7 joins the consumer group using the classic protocol."""


def coordinator_log(folder: Path, *parts: tuple[str, str]) -> list[tuple[str, float]]:
    """Causes and confidences of a coordinator's log; each part is logged at one time of day."""
    lines = (
        f"[2026-11-21 {at},000] INFO {COORDINATOR} {message} (org.apache.kafka.coordinator.group.GroupMetadataManager)"
        for at, part in parts
        for message in part.splitlines()
    )
    (folder / "server.log").write_text("\n".join(lines) + "\n")
    report = json.loads(rf.analyze(folder, engine="local").to_json())
    return [(i["root_causes"][0]["cause"], i["root_causes"][0]["confidence"]) for i in report["incidents"]]


def test_a_newcomer_at_the_end_of_the_logs_may_be_a_restarted_member(tmp_path: Path) -> None:
    # A member that died stays in the group until its session ends or it misses the join barrier.
    found = dict(coordinator_log(tmp_path, ("02:13:57", FORMED), ("02:14:40", JOINS_A_STABLE_GROUP)))
    assert found.get("scale-out", 0.0) < 0.75


def test_a_new_member_that_a_generation_counts_in_addition_to_all_others_was_added(tmp_path: Path) -> None:
    counted = "Stabilized group ledger generation 2 with 3 members."
    parts = ("02:13:57", FORMED), ("02:14:40", JOINS_A_STABLE_GROUP), ("02:14:41", counted)
    assert dict(coordinator_log(tmp_path, *parts))["scale-out"] == 0.9


def test_members_that_rejoin_after_the_conversion_of_their_group_are_no_newcomers(tmp_path: Path) -> None:
    found = dict(coordinator_log(tmp_path, ("02:13:57", FORMED), ("02:14:20", CONVERTED), ("02:16:20", "")))
    assert found.get("scale-out", 0.0) < 0.75
