from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.diagnosis.expiries import evicted
from tests.diagnosis.statics import replaced, said_by_static, static_group
from tests.kafka_words import Release, member_id
from tests.story import Side, Story

RELEASES: list[Release] = [(1, 1), (2, 4), (2, 8), (3, 9), (4, 1)]
SIDES: list[Side] = ["both", "brokers", "clients"]


@pytest.mark.parametrize("seen", SIDES)
@pytest.mark.parametrize("release", RELEASES)
def test_every_generation_is_found_from_either_side(release: Release, seen: Side) -> None:
    assert [g.generation for g in evicted(release, seen).history().generations] == [1, 2]


@pytest.mark.parametrize("release", [(2, 8), (3, 9), (4, 1)])
def test_a_generation_lasts_from_the_first_word_to_the_assignment(release: Release) -> None:
    first, second = evicted(release).history().generations
    assert (second.started_at or 0) - (first.completed_at or 0) > 0
    assert 400 <= (second.completed_at or 0) - (second.started_at or 0) <= 600


@pytest.mark.parametrize("seen", SIDES)
def test_assigned_generations_are_stable(seen: Side) -> None:
    assert [g.outcome for g in evicted(seen=seen).history().generations] == ["stable", "stable"]


def test_a_generation_without_members_is_empty() -> None:
    story = closes(closes(Story().formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"]), "c-1", "01:10:02.000", [])
    last = story.history().generations[-1]
    assert (last.outcome, last.members) == ("empty", ())
    assert (last.completed_at, last.began_at) == (None, last.emptied_at)


def test_a_generation_that_the_next_one_overtakes_before_its_assignment_is_superseded() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    words = story.words
    story.broker("01:10:00.000", words.preparing(1, words.leaving(member_id("c-3"))))
    story.broker("01:10:00.500", words.stabilized(2, 2))
    story.broker("01:10:00.510", words.preparing(2, words.adding(member_id("c-4"))))
    story.broker("01:10:01.000", words.stabilized(3, 3))
    story.broker("01:10:01.010", words.assigned(3, 3, member_id("c-1")))
    assert [(g.generation, g.outcome) for g in story.history().generations] == [
        (1, "stable"),
        (2, "superseded"),
        (3, "stable"),
    ]


def test_a_generation_whose_sync_fails_names_the_failure() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    generation = "Generation{generationId=2, memberId='c-1-00000001-0000-4000-8000-00000000cafe', protocol='range'}"
    story.client("c-1", "01:10:00.000", "(Re-)joining group")
    story.client("c-1", "01:10:00.300", f"Successfully joined group with generation {generation}")
    story.client(
        "c-1",
        "01:10:00.310",
        "SyncGroup failed: The group began another rebalance. Need to re-join the group. "
        f"Sent generation was {generation}",
    )
    story.generation = 2
    story.rebalanced("01:10:01.000", "of no interest to clients", ["c-1", "c-2"])
    by_number = {g.generation: g for g in story.history().generations}
    assert by_number[2].outcome in {"superseded", "failed"}
    assert any("SyncGroup" in f for g in by_number.values() for f in g.failures)


@pytest.mark.parametrize("release", [(3, 9), (4, 1)])
@pytest.mark.parametrize("seen", SIDES)
def test_the_leader_is_known_from_either_side(release: Release, seen: Side) -> None:
    assert [g.leader for g in evicted(release, seen).history().generations] == [member_id("c-1")] * 2


def test_brokers_before_3_0_do_not_name_the_leader() -> None:
    assert [g.leader for g in evicted((2, 8), "brokers").history().generations] == [None, None]


def test_the_trigger_is_the_cause_of_the_incident_it_belongs_to() -> None:
    assert [g.trigger for g in evicted().history().generations] == ["startup", "process-crash"]


def test_a_client_that_replaces_a_static_member_is_listed_with_it_and_counted_once() -> None:
    story = static_group("pod-1", "pod-2")
    taken = "Generation{generationId=1, memberId='pod-2-00000002-0000-4000-8000-00000000cafe', protocol='range'}"
    for client, pod, time in (("c-1", "pod-1", "01:00:03.000"), ("c-2", "pod-2", "01:00:03.000")):
        first = f"Generation{{generationId=1, memberId='{member_id(pod)}', protocol='range'}}"
        said_by_static(story, client, pod, time, f"Successfully synced group in generation {first}")
    replaced(story, "pod-2", "01:10:00.000")
    said_by_static(story, "c-9", "pod-2", "01:10:00.010", f"Successfully joined group with generation {taken}")
    (generation,) = story.history().generations
    assert [m.client_id for m in generation.members] == ["c-1", "c-2", "c-9"]
    assert generation.size == 2


def test_static_members_that_return_in_their_generation_do_not_restart_it() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    (before,) = story.history().generations
    for client in ("c-1", "c-2"):
        words = story.of(client)
        for time, said in (
            ("01:10:00.000", words.joining()),
            ("01:10:00.020", words.joined(1, story.reborn(client).id_of(client))),
            ("01:10:00.030", words.synced(1, story.id_of(client))),
        ):
            assert said is not None
            story.line(f"{client}/app.log", time, said)
    (after,) = story.history().generations
    assert after.started_at == before.started_at
    assert after.completed_at == before.completed_at
