"""What the page holds as data: every text as it was, and no more names than a page takes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Culprit, Incident
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.html.budget import FEWEST_NAMES, NAMES, NAMES_AN_INCIDENT, Budget
from rebalance_forensics.report.html.content import filter_names
from rebalance_forensics.report.html.page_data import HOLE, Texts
from rebalance_forensics.report.plain_text import printable
from tests.report.building import a_crash, crash_report

A_WORD = st.sampled_from(["INFO", "member", "app-1-7f3a", "2026-03-01", "10:02:11,123", "", " ", "(", "\\", "$1", "$&"])
A_TEXT = st.one_of(st.text().map(printable), st.lists(A_WORD).map(" ".join))


def put_together(texts: Texts, number: int) -> str:
    """As the page's script does it."""
    pattern, *inner = (texts.parts[place] for place in texts.rows[number])
    pieces = pattern.split(HOLE)
    return "".join(piece + filler for piece, filler in zip(pieces, [*inner, ""], strict=True))


def storm(number: int, *, of: int) -> Incident:
    """So many members restarted in turn, each under a new name, in one of many incidents."""
    names = tuple(f"app-{of}-{member:05d}" for member in range(number))
    cause = replace(a_crash().root_causes[0], culprits=(Culprit(kind="group", name="payments", names=names),))
    return replace(a_crash(), id=f"{of:016x}", root_causes=(cause,))


@settings(deadline=None)
@given(st.lists(A_TEXT))
def test_texts_put_together_again_are_as_they_were(written: list[str]) -> None:
    texts = Texts()
    numbers = [texts.number_of(text) for text in written]
    assert [put_together(texts, number) for number in numbers] == written


def test_lines_that_differ_in_names_and_numbers_only_share_their_pattern() -> None:
    texts = Texts()
    for member in range(1_000):
        texts.number_of(f"Member app-{member} in group payments has failed, removing it from the group")
    assert len(texts.parts) == 1_001


def test_the_filter_knows_everybody_an_ordinary_incident_is_blamed_on() -> None:
    budget = Budget()
    names = filter_names([storm(300, of=1), storm(200, of=2)], budget)
    assert [len(known) for known in names.values()] == [301, 201]
    assert not budget.left_out


def test_names_beyond_what_a_page_holds_are_counted_and_the_most_urgent_incidents_keep_most() -> None:
    budget = Budget()
    storms = [storm(3_000, of=number) for number in range(10)]
    held = [len(known) for known in filter_names(storms, budget).values()]
    assert held[0] == NAMES_AN_INCIDENT
    assert held[-1] == FEWEST_NAMES
    assert sum(held) <= NAMES
    assert sum(budget.left_out.values()) == 10 * 3_001 - sum(held)


def test_names_that_people_gave_are_held_before_made_up_ones() -> None:
    made_up = tuple(f"app-1b4e28ba-2fa1-11d2-883f-{number:012d}" for number in range(NAMES_AN_INCIDENT))
    cause = replace(a_crash().root_causes[0], culprits=(Culprit(kind="group", name="g", names=(*made_up, "worker-7")),))
    incident = replace(a_crash(), root_causes=(cause,))
    assert "worker-7" in filter_names([incident], Budget())[incident.id]


def test_a_page_says_that_it_does_not_hold_all_names() -> None:
    page = to_html(replace(crash_report(), incidents=(storm(3_000, of=1),)))
    assert "1,001 names of members that the filter would find an incident by" in page
    assert 'data-left-out="1,001 names of members are not in this page' in page
