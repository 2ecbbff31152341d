from __future__ import annotations

import pytest

from rebalance_forensics.timeline.clocks.file_clocks import Place
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.missing_lines import Span, missing_lines
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_network_partition import LOST, cut_off
from tests.diagnosis.test_process_pause import UNKNOWN
from tests.story import Story, ms

PRODUCER = "org.apache.kafka.clients.producer.internals.TransactionManager"
FOUND = "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)"


def found_twice(between: str | None = None) -> Story:
    story = Story().formed("c-1", "c-2").client("c-1", "01:00:00.010", FOUND)
    if between is not None:
        story.client("c-1", "01:20:00.000", between)
    return story.client("c-1", "01:30:00.000", FOUND)


def test_a_coordinator_found_again_that_was_never_given_up_shows_that_lines_are_missing() -> None:
    timeline = found_twice().timeline()
    assert timeline.coverage.missing == {"c-1/app.log": [(ms("01:00:00.010"), ms("01:30:00.000"))]}
    (c_1,) = (a for a in timeline.participants.everybody if a.name == "c-1")
    assert not covering(timeline.coverage.of(c_1), ms("01:10:00.000"), ms("01:30:00.000"))


def test_a_coordinator_found_again_after_it_was_given_up_shows_a_whole_log() -> None:
    assert not found_twice(LOST).timeline().coverage.missing


def test_a_process_that_was_started_again_finds_its_coordinator_again() -> None:
    # The threads of a Streams instance subscribe after they have found it, and its configuration names no client.
    assert not found_twice("Kafka version: 4.4.0").timeline().coverage.missing


def test_a_transactional_producer_looks_for_its_coordinator_again_without_a_word() -> None:
    story = Story().formed("c-1", "c-2")
    for time in ("01:00:00.010", "01:30:00.000"):
        message = f"[Producer clientId=c-1, transactionalId=orders] {FOUND}"
        story.line(
            "c-1/app.log", time, message, logger="org.apache.kafka.clients.producer.internals.TransactionManager"
        )
    assert not story.timeline().coverage.missing


def test_a_coordinator_that_skips_a_generation_logged_it_where_its_lines_are_missing() -> None:
    story = Story().formed("c-1", "c-2")
    assert not story.timeline().coverage.missing
    story.generation += 4
    story.rebalanced("01:30:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert list(story.timeline().coverage.missing) == ["broker-2/server.log"]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_rolled_file_is_missing_where_the_numbers_of_the_others_skip(suffix: str) -> None:
    base, first, third = ("server.log", "b"), (f"server.log.1{suffix}", "b"), (f"server.log.3{suffix}", "b")
    assert missing_lines(EventIndex([]), {third: (0, 9), first: (20, 29), base: (30, 39)}) == {first: [(9, 20)]}
    second = f"server.log.2{suffix}", "b"
    assert not missing_lines(EventIndex([]), {third: (0, 9), second: (9, 19), first: (20, 29), base: (30, 39)})


def test_log4j_2_counts_rolled_files_on() -> None:
    names = ("app.log.17", "app.log.18", "app.log.19", "app.log")
    whole: dict[Place, Span] = {(name, "b"): (10 * place, 10 * place + 9) for place, name in enumerate(names)}
    assert not missing_lines(EventIndex([]), whole)
    del whole["app.log.18", "b"]
    assert missing_lines(EventIndex([]), whole) == {("app.log.19", "b"): [(9, 20)]}


def test_a_hole_around_the_time_when_a_member_was_cut_off_proves_no_pause() -> None:
    story = cut_off().client("c-3", "01:00:00.010", FOUND)
    story.client("c-3", "01:10:12.000", FOUND)
    former = f"Generation{{generationId=1, memberId='c-3-{'0' * 8}', protocol='range'}}"
    story.client("c-3", "01:10:12.010", UNKNOWN.format(former))
    hole = ms("01:09:00.000"), ms("01:10:11.000")
    story.events = [e for e in story.events if e.speaker.client_id != "c-3" or not hole[0] <= (e.at or 0) <= hole[1]]
    assert all(cause.confidence < 0.75 for i in story.incidents() for cause in i.root_causes)
    assert any("c-3/app.log" in gap.what for gap in story.case().gaps)


def test_a_member_that_is_back_and_never_logged_its_loss_may_have_been_started_anew() -> None:
    story = evicted().reborn("c-3")
    story.rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert all(cause.confidence < 0.75 for i in story.incidents() for cause in i.root_causes)
