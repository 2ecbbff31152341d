"""Every fact that causes rest on is read in each client's words, or is proven not to be logged there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.site.clients_page import lines, logged_by, matrix, sources_of, states
from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.dialects import Dialect, Fact, Release, dialects
from rebalance_forensics.timeline.releases import Affected, ReportedRelease, release_range

KNOWN = dialects()
SPEAKERS = (*KNOWN.clients, *KNOWN.brokers)
EVERYBODY = (*SPEAKERS, *KNOWN.frameworks)
OF_THE_HOST = {"host", "jvm", "kubernetes"}
"""Folders of what the kernel, supervisors, Kubernetes and the JVM write of processes, not of groups."""
MINORS: tuple[Release, ...] = (
    *((0, minor) for minor in (9, 10, 11)), (1, 0), (1, 1), *((2, minor) for minor in range(9)),
    *((3, minor) for minor in range(10)), *((4, minor) for minor in range(4)),
)  # fmt: skip
"""The releases of Kafka whose words are known, without their patches."""
FACTS = (*KNOWN.facts, *KNOWN.facts_of_brokers, *KNOWN.facts_of_frameworks)


def _release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def test_every_fact_is_read_or_proven_unlogged_in_every_client_and_coordinator() -> None:
    spoken = {speaker.name for speaker in SPEAKERS}
    empty = [names for names, cell in matrix().items() if not cell.wordings and not cell.silences]
    assert [names for names in empty if names[1] in spoken] == []


def test_every_framework_names_the_client_in_it_and_where_it_logs_no_more() -> None:
    assert [framework.name for framework in KNOWN.frameworks if not framework.embeds or not framework.silent] == []


def test_no_client_is_called_silent_about_what_a_pattern_reads() -> None:
    contradicted = [
        (*names, wording.pattern)
        for names, cell in matrix().items()
        for silence in cell.silences
        for wording in cell.wordings
        if not (silence.level == "INFO" and wording.debug_only)
        if silence.before is None or wording.first is None or wording.first < _release(silence.before)
        if silence.since is None or wording.last is None or wording.last >= _release(silence.since)
    ]
    assert contradicted == []


def _uncovered(era: Dialect, facts: Sequence[Fact]) -> Iterator[tuple[str, Release]]:
    """The facts that neither a wording nor a silence covers, with the release that has neither."""
    assert era.since is not None
    assert era.until is not None
    released = [r for r in MINORS if _release(era.since) <= r <= _release(era.until)]
    own = [line for line in lines() if sources_of(era, line)]
    for fact in facts:
        logged_in = [line.entry.releases or (MINORS[0], MINORS[-1]) for line in own if states(fact, line)]
        silences = matrix()[fact.name, era.name].silences
        for release in released:
            unlogged = any(silence.covers(release) for silence in silences)
            if not unlogged and not any(first[:2] <= release <= last[:2] for first, last in logged_in):
                yield fact.name, release


@pytest.mark.parametrize("era", [pytest.param(era, id=era.name) for era in SPEAKERS if era.since is not None])
def test_no_release_of_kafka_falls_between_two_wordings_of_a_fact(era: Dialect) -> None:
    """A release between two that are known reads as the nearest: each has words for the fact, or is proven silent."""
    facts = KNOWN.facts if era in KNOWN.clients else KNOWN.facts_of_brokers
    assert [*_uncovered(era, facts)] == []


@given(
    release=st.tuples(st.integers(0, 9), st.integers(0, 12), st.integers(0, 9)),
    suffix=st.sampled_from(["", ".redhat-00003", "-cp1", "-ccs", "-ce", ".7.1.7.0-551", "-amzn-0", "-SNAPSHOT"]),
    bounds=st.tuples(st.tuples(st.integers(0, 9), st.integers(0, 12), st.integers(0, 9)), st.integers(0, 3)),
)
def test_a_release_is_only_called_affected_where_every_one_that_its_version_may_stand_for_is(
    release: Release, suffix: str, bounds: tuple[Release, int]
) -> None:
    """A vendor's number may hide later fixes of its line, Confluent's names another release: it stays uncertain."""
    spread = release_range(".".join(map(str, release)) + suffix)
    first, width = bounds
    affected = Affected(first, (first[0], first[1] + width, 0))
    if spread is None:
        return
    low, high = spread
    assert low <= high
    assert low[:2] == high[:2]
    assert suffix or low == high == release
    among = [(*low[:2], patch) for patch in range(low[2], min(high[2], 12) + 1)]
    surely = affected.contains(ReportedRelease(0, low, high))
    assert not surely or all(affected.contains(ReportedRelease(0, each, each)) for each in among)


def test_what_debug_alone_shows_is_called_silent_at_info() -> None:
    at_debug = {
        names
        for names, cell in matrix().items()
        if cell.wordings and all(wording.debug_only for wording in cell.wordings)
        if names[1] not in {framework.name for framework in KNOWN.frameworks}
    }
    assert {names for names in at_debug if all(s.level != "INFO" for s in matrix()[names].silences)} == set()


def test_every_message_states_a_fact_or_is_background() -> None:
    rows = {event for fact in FACTS for way in fact.shown_by for event in way}
    outside = {
        line.pattern.id
        for line in lines()
        if any(sources_of(speaker, line) for speaker in EVERYBODY)
        and line.pattern.event not in rows
        and line.pattern.event not in KNOWN.background
    }
    assert outside == set()


def test_every_source_of_a_message_belongs_to_a_client_a_coordinator_or_a_framework() -> None:
    ours = [line for line in lines() if line.pattern.id.partition("/")[0] not in OF_THE_HOST]
    known = {
        (line.pattern.id, source) for line in ours for speaker in EVERYBODY for source in sources_of(speaker, line)
    }
    assert {(line.pattern.id, source) for line in ours for source in logged_by(line)} - known == set()


def test_events_and_fields_of_facts_are_those_of_the_vocabulary() -> None:
    ways = [(event, wanted) for fact in FACTS for way in fact.shown_by for event, wanted in way.items()]
    assert [(e, name) for e, wanted in ways for name in wanted if name not in EVENT_TYPES[e].__struct_fields__] == []
    assert set(KNOWN.background) <= EVENT_TYPES.keys()
    own = {event for fact in (*KNOWN.facts, *KNOWN.facts_of_brokers) for way in fact.shown_by for event in way}
    assert set(KNOWN.background).isdisjoint(own)


def test_a_silence_names_facts_and_clients_that_are_there() -> None:
    clients, facts = {speaker.name for speaker in SPEAKERS}, {fact.name for fact in FACTS}
    for silence in KNOWN.not_logged:
        assert set(silence.clients) <= clients
        assert set(silence.facts) <= facts


def test_every_client_and_every_fact_is_described_separately() -> None:
    for speaker in SPEAKERS:
        assert any(sources_of(speaker, line) for line in lines()), speaker.name
    for fact in FACTS:
        assert any(states(fact, line) for line in lines()), fact.name
