from __future__ import annotations

import pytest
from rich.cells import cell_len

from rebalance_forensics.report import terminal
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal import Explanation
from tests.report.building import crash_report, empty_report, healthy_report
from tests.report.extremes import hostile_report, many_groups
from tests.report.snapshots import assert_same

EXPLANATION = Explanation(
    cause="process-crash",
    summary="A process died without leaving its group.",
    mechanism="A consumer that is killed sends no LeaveGroup.\nThe coordinator waits.\n\nThen it rebalances.",
    evidence="- Member … has failed\n- a log that stops",
    remedy="Find what killed it.",
    settings=(("session.timeout.ms", "how long the coordinator waits; 45 s since 3.0"),),
    references=("KIP-735: Increase default consumer session timeout",),
    neighbours=(("process-pause", "the process comes back and is told UNKNOWN_MEMBER_ID"),),
)


@pytest.mark.parametrize(
    ("name", "report", "width", "verbosity"),
    [
        ("process-crash", crash_report(), 80, 0),
        ("process-crash-narrow", crash_report(), 44, 0),
        ("process-crash-wide", crash_report(), 132, 0),
        ("process-crash-verbose", crash_report(), 80, 1),
        ("process-crash-quiet", crash_report(), 80, -1),
        ("healthy", healthy_report(), 80, 0),
        ("healthy-quiet", healthy_report(), 80, -1),
        ("no-group", empty_report(), 80, 0),
        ("many-groups", many_groups(30), 80, 0),
    ],
)
def test_the_report_reads_well(name: str, report: Report, width: int, verbosity: int) -> None:
    assert_same(f"terminal-{name}.txt", terminal.render(report, width=width, verbosity=verbosity))


def test_the_first_screen_answers_what_who_how_bad_since_when_and_what_to_do() -> None:
    screen = "\n".join(terminal.render(crash_report()).splitlines()[:24])
    for answer in (
        "died without leaving",
        "97 % sure",
        "client payments-2",
        "6.4 s of pauses",
        "10:02:11",
        "Find out what killed payments-2",
    ):
        assert answer in screen


def test_the_last_lines_repeat_the_verdict_that_has_scrolled_away() -> None:
    ending = " ".join(terminal.render(many_groups(30)).split()[-25:])
    assert "3 critical and 27 warning; most urgent: process-crash (97 % sure) by client payments-2" in ending
    assert "still going on." in ending


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("report", [crash_report(), many_groups(12), hostile_report()])
def test_no_line_is_wider_than_the_terminal(report: Report, width: int) -> None:
    text = terminal.render(report, width=width, verbosity=1)
    assert max(map(cell_len, text.splitlines())) <= width


def test_without_colour_nothing_but_text_is_written() -> None:
    assert "\x1b" not in terminal.render(crash_report(), color=False)
    assert "\x1b[1;31m" in terminal.render(many_groups(12), color=True)


def test_every_incident_is_told_in_full_when_asked_for() -> None:
    text = terminal.render(many_groups(12), verbosity=1)
    assert text.count("Ruled out") == 12


def test_a_timeline_names_members_as_operators_do() -> None:
    assert_same("timeline-payments.txt", terminal.render_timeline(crash_report().groups[0]))


def test_a_member_is_known_by_every_name_it_has() -> None:
    by_address = terminal.render_whois(crash_report(), "10.0.0.2")
    assert by_address == terminal.render_whois(crash_report(), "payments-2")
    assert_same("whois-payments-2.txt", by_address)


def test_a_part_of_a_name_finds_everyone_who_has_it() -> None:
    assert terminal.render_whois(crash_report(), "PAYMENTS").count("client payments-") == 3


def test_an_unknown_name_gets_the_known_ones() -> None:
    assert terminal.render_whois(crash_report(), "orders") == (
        "Nobody in these logs is called orders.\nKnown names: payments-1, payments-2, payments-3.\n"
    )


def test_before_and_after_show_only_what_differs() -> None:
    text = terminal.render_compare(healthy_report(), crash_report(), names=("before", "after"))
    assert_same("compare-before-after.txt", text)
    assert "session.timeout.ms" not in text


def test_two_incidents_are_compared_fact_by_fact() -> None:
    startup, crash = crash_report().incidents
    assert_same("compare-incidents.txt", terminal.render_compare(startup, crash))


def test_a_report_beside_itself_differs_in_nothing() -> None:
    assert terminal.render_compare(crash_report(), crash_report()).count("no difference") == 2


@pytest.mark.parametrize("width", [80, 140])
def test_coverage_says_per_file_what_was_understood(width: int) -> None:
    assert_same(f"coverage-{width}.txt", terminal.render_coverage(crash_report().inputs, width=width))


def test_an_explanation_teaches() -> None:
    assert_same("explain-process-crash.txt", terminal.render_explain(EXPLANATION))
