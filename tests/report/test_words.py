from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Culprit, Impact
from rebalance_forensics.diagnosis.wording.durations import some
from rebalance_forensics.report.html.shapes import ticks
from rebalance_forensics.report.lanes import leader_names, period_of
from rebalance_forensics.report.plain_text import line_of, printable, prose
from rebalance_forensics.report.times import DAY, HOUR, MINUTE, duration, iso, utc
from rebalance_forensics.report.urgency_order import most_urgent_first
from rebalance_forensics.report.wording import culprit, names_besides, ranges, since, size, sureness, unread
from tests.report.building import NOON, a_crash, a_startup, at, payments
from tests.report.extremes import many_groups


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        *((0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (3_249, "3.2 s"), (59_960, "1 min"), (252_000, "4 min 12 s")),
        *((3_599_600, "1 h"), (125 * MINUTE, "2 h 05 min"), (3 * DAY + 4 * HOUR, "3 d 4 h"), (2 * DAY, "2 d")),
    ],
)
def test_durations_are_as_exact_as_people_need(ms: int, words: str) -> None:
    assert duration(ms) == words


def test_an_unknown_time_is_shown_as_unknown() -> None:
    assert iso(None) is None
    assert utc(None) == "unknown"
    assert utc(10**18) == "unknown"


def test_confidence_is_never_rounded_up_to_certainty() -> None:
    assert sureness(0.999) == "99 % sure"
    assert sureness(0.29) == "29 % sure"


def test_generations_are_shown_as_ranges() -> None:
    assert ranges([5, 6, 7, 9, 12, 11, 5]) == "5-7, 9, 11-12"
    assert ranges([]) == ""


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 B"), (999, "999 B"), (4_200, "4.2 kB"), (1_100_000_000, "1.1 GB")]
)
def test_sizes_are_shown_in_decimal_units(number: int, words: str) -> None:
    assert size(number) == words


def test_many_names_are_counted_not_listed() -> None:
    assert some(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 more"


def test_a_whole_group_is_called_that() -> None:
    assert culprit(a_startup().root_causes[0].culprits[0]) == "the whole group payments"


def test_an_incident_says_whether_it_is_over() -> None:
    assert since(replace(a_crash(), ongoing=True, ended_at=None)).endswith("still going on when the logs end")
    assert since(replace(a_crash(), ended_at=None)).endswith("end not seen")
    assert since(replace(a_crash(), ended_at=a_crash().started_at)) == "2026-03-01 10:02:11 UTC"
    assert since(a_crash()) == "2026-03-01 10:02:11 UTC to 10:02:14, lasted 3.3 s, resolved"
    at_once = replace(a_crash(), ended_at=a_crash().started_at + 83)
    assert since(at_once) == "2026-03-01 10:02:11 UTC"
    assert "to 2026-03-03 10:00:00" in since(replace(a_crash(), ended_at=at(86_400 * 2)))


def test_critical_ongoing_incidents_come_first() -> None:
    ordered = most_urgent_first(many_groups(30).lazy_incidents)
    assert [one.severity for one in ordered[:4]] == ["critical", "critical", "critical", "warning"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *(("plain [text]", "plain [text]"), ("größer 日本", "größer 日本"), ("a\tb", "a b")),
        *(("\x1b[2J", "\\x1b[2J"), ("\x9b31m", "\\x9b31m"), ("\u202egnp", "\\u202egnp"), ("\udcff", "\\udcff")),
        *(("\U000e0041", "\\U000e0041"), ("Z" + "\u0301" * 50, "Z" + "\u0301" * 4 + "…")),
    ],
)
def test_what_would_hide_or_move_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_megabyte_becomes_a_line_that_says_how_much_is_missing() -> None:
    assert line_of("A" * 1_000_000, 10) == "AAAAAAAAAA … (+999990 characters)"


def test_sentences_are_on_one_line() -> None:
    assert prose("one\n two\u2028three") == "one two three"


def test_an_axis_has_round_labels_and_not_too_many() -> None:
    labels = [tick.label for tick in ticks(NOON + 1_234, NOON + 61_234)]
    assert labels == ["10:00:10", "10:00:20", "10:00:30", "10:00:40", "10:00:50", "10:01:00"]
    assert [tick.label for tick in ticks(NOON, NOON + 3 * DAY)][:2] == ["12:00", "2026-03-02"]
    assert [tick.label for tick in ticks(NOON, NOON + 5)] == [f"10:00:00.00{number}" for number in range(6)]


def test_an_axis_of_a_decade_still_has_labels() -> None:
    assert 2 <= len(ticks(0, 3_650 * DAY)) <= 12


def test_an_axis_of_a_log_with_broken_dates_has_no_thousand_labels() -> None:
    assert 2 <= len(ticks(-700_000 * DAY, 2_900_000 * DAY)) <= 12


def test_the_leader_is_known_by_all_its_names() -> None:
    generation = payments().generations[0]
    assert leader_names(generation) >= {"payments-1", generation.leader}
    assert leader_names(replace(generation, leader=None)) == frozenset()


def test_a_group_of_which_nothing_is_known_has_no_period() -> None:
    nothing = replace(payments(), lanes=(), generations=(), pauses=(), coordinators=())
    assert period_of(nothing) is None


def test_repetitions_and_other_affected_members_are_described_after_the_first_occurrence() -> None:
    once = replace(a_crash().root_causes[0], narrative="a died.")
    assert once.whole_narrative == "a died."
    assert replace(once, occurrences=2, affected=("b",)).whole_narrative == "a died. b was affected as well."
    often = replace(once, occurrences=1_204, affected=("b", "c"))
    assert often.whole_narrative == "a died. It happened 1,204 times. b and c were affected as well."


def test_a_connect_cluster_shares_out_connectors_and_tasks_not_partitions() -> None:
    lost = Impact(
        unread_partition_ms=4000, unread_partitions=2, known_partitions=7, longest_unread_ms=2000, rebalances=1,
        of_connect=True,
    )  # fmt: skip
    assert unread(lost) == "2 of 7 connectors and tasks without a worker for 2 s"
    assert unread(replace(lost, unread_partitions=0)) == "no connector or task was left without a worker"
    both = "2 of 7 partitions, connectors and tasks unread or without a worker for 2 s"
    assert unread(replace(lost, of_connect=None)) == both


def test_names_that_people_gave_come_before_ids_that_were_made_up() -> None:
    """KIP-848 members choose base64 ids; classic ones get the client id with a uuid."""
    ids = ("EaCyO5uISqaHWy7R0QnSbQ", "audit-1-958ccedb-83c6-4454-b443-034ace05c786")
    host = Culprit(kind="host", name="host-1", names=(*ids, "audit-1", "host-1"))
    assert names_besides(host) == ("audit-1", *ids)
