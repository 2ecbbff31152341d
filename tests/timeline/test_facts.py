"""Facts of a timeline: finished, each with an id of its own."""

from __future__ import annotations

from typing import Any

import pytest

from rebalance_forensics.events.base import member_ids_in
from rebalance_forensics.timeline.facts import Arrival, Departure, amend
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.membership.table import MembershipTable
from tests.kafka_words import member_id
from tests.timeline.test_headcount import three_restarts

KINDS = ("starts", "stops", "departures", "arrivals", "returns", "requests", "rebalances")


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    return three_restarts((2, 3, 2, 2, 3)).timeline()


def facts_of(timeline: Timeline) -> list[Any]:
    return [fact for kind in KINDS for fact in getattr(timeline, kind)]


def test_no_two_facts_have_the_same_id(timeline: Timeline) -> None:
    ids = [fact.id for fact in facts_of(timeline)]
    assert "" not in ids
    assert len(set(ids)) == len(ids) > 10


def test_facts_of_a_kind_are_counted_in_the_order_of_time(timeline: Timeline) -> None:
    assert [d.id for d in timeline.departures] == ["departure-1", "departure-2", "departure-3"]
    assert [r.id for r in timeline.rebalances] == [f"rebalance-{n}" for n in range(1, len(timeline.rebalances) + 1)]


def test_nothing_is_written_to_a_fact_or_to_the_timeline(timeline: Timeline) -> None:
    who = timeline.participants
    assert len(who.everybody) > 1
    for thing in (*facts_of(timeline), timeline, who, *who.everybody):
        for name in getattr(thing, "__struct_fields__", None) or thing.__dataclass_fields__:
            with pytest.raises(AttributeError):
                setattr(thing, name, None)


def test_looking_up_a_member_that_no_line_names_adds_no_member(timeline: Timeline) -> None:
    who = timeline.participants
    before = {participant: participant.every_name() for participant in who.everybody}
    assert who.of_member(member_id("c-9", 1)) is None
    assert who.of_instance("c-9") is None
    assert {participant: participant.every_name() for participant in who.everybody} == before


def test_every_member_id_that_a_line_names_leads_to_a_participant(timeline: Timeline) -> None:
    named = {m for e in timeline.group_events for m in member_ids_in(e)}
    assert len(named) > 3
    for member in named:
        participant = timeline.participants.of_member(member)
        assert participant is not None
        assert member in participant.member_ids


def test_a_departure_and_the_return_that_ends_it_know_each_other(timeline: Timeline) -> None:
    assert len(timeline.departures) == 3
    for departure in timeline.departures:
        assert departure.returned is not None
        assert departure.returned in timeline.arrivals
        assert departure.returned.ends is departure
    first = next(a for a in timeline.arrivals if a.first)
    assert first.ends is None


def test_a_return_that_the_coordinator_withdrew_ends_the_absence_and_is_no_arrival(timeline: Timeline) -> None:
    participant = timeline.departures[0].participant
    departure = Departure(participant, "c-1-1", 1_000)
    amend(departure, returned=Arrival(participant, "c-1-2", 2_000, ends=departure))
    table = MembershipTable(timeline.participants, [departure], timeline.group_events)
    assert (list(table.departures), list(table.arrivals)) == ([departure], [])
    assert departure.returned is not None
    assert departure.returned.id == "departure-1-returned"
