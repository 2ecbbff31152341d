"""Kafka 0.9 to 0.11: coordinators that name no partition and no expiry, consumers that print no client id."""

from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.kafka_words import Release
from tests.story import Side, Story

FIRST = [(0, 10), (0, 11)]


def without_c_3(release: Release, seen: Side = "both") -> Story:
    formed = Story(release=release, seen=seen).formed("c-1", "c-2", "c-3")
    return formed.rebalanced("01:10:00.000", "", ["c-1", "c-2"], takes_ms=3_000)


@pytest.mark.parametrize("release", FIRST)
def test_the_first_coordinators_tell_of_every_generation(release: Release) -> None:
    timeline = without_c_3(release, "brokers").timeline()
    assert [(r.generation, (r.completed_at or 0) - r.started_at) for r in timeline.rebalances] == [
        (1, 3_010),
        (2, 3_010),
    ]


@pytest.mark.parametrize("release", FIRST)
@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_consumer_that_prints_no_client_id_has_that_of_its_configuration(release: Release, seen: Side) -> None:
    history = without_c_3(release, seen).history()
    assert [{m.client_id for m in g.members} for g in history.generations] == [{"c-1", "c-2", "c-3"}, {"c-1", "c-2"}]
    assert {p.client_id for p in history.pauses} == {"c-1", "c-2"}


def test_consumers_of_one_process_that_log_no_client_id_are_not_distinguished() -> None:
    story = Story(release=(0, 10), seen="clients").formed("c-1").started("c-1", "01:00:00.000", client_id="c-9")
    assert {m.client_id for g in story.history().generations for m in g.members}.isdisjoint({"c-1", "c-9"})


def test_java_is_not_read_as_the_python_client_with_the_same_messages() -> None:
    roles = {e.speaker.role for e in Story(release=(0, 10), seen="clients").formed("c-1", "c-2").events}
    assert roles == {"consumer"}


@pytest.mark.parametrize(("release", "why"), [((0, 10), "vanished"), ((0, 11), "left")])
def test_only_a_coordinator_that_names_expiries_shows_by_its_silence_that_a_member_left(
    release: Release, why: str
) -> None:
    story = closes(Story(release=release).formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert [d.why for d in story.timeline().departures] == [why]
