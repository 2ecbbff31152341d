from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from rebalance_forensics.diagnosis.model import Culprit, Gap
from rebalance_forensics.records import ORDER_EPOCH, EpochMs
from rebalance_forensics.report import terminal
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import lines_of
from rebalance_forensics.report.terminal import Explanation
from rebalance_forensics.report.terminal.rich_blocks import columns, printed
from rebalance_forensics.report.times import DAY
from rebalance_forensics.report.wording import totals_of_inputs
from rebalance_forensics.timeline.model import Generation, Member, Reading, ReadSpan
from tests.report.building import a_crash, a_startup, at, crash_report, empty_report, healthy_report, payments
from tests.report.extremes import broker_down, hostile_report, many_groups
from tests.report.snapshots import assert_same

EXPLANATION = Explanation(
    cause="process-crash",
    summary="A process died without leaving its group.",
    mechanism="A consumer that is killed sends no LeaveGroup.\nThe coordinator waits.\n\nThen it rebalances.",
    evidence="- Member … has failed\n- a log that stops",
    remedy="Find what killed it.",
    settings=(("session.timeout.ms", "How long the coordinator waits; 45 s since 3.0."),),
    references=("KIP-735: Increase default consumer session timeout",),
    neighbours=(("process-pause", "The process comes back and is told UNKNOWN_MEMBER_ID."),),
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
        "1 rebalance paused 3 members",
        "10:02:11",
        "Find out what killed payments-2",
    ):
        assert answer in screen


def test_a_verdict_about_several_groups_is_shown_once() -> None:
    crash = a_crash()
    message = f"{crash.summary} 2 other members were affected as well."
    culprit = Culprit(kind="group", name="payments", names=("payments-1", "payments-2", "payments-3"))
    others = ("payments-1", "payments-3")
    cause = replace(
        crash.root_causes[0], narrative=crash.summary, culprits=(culprit,), occurrences=3, affected=others
    )  # fmt: skip
    report = replace(crash_report(), incidents=(replace(crash, summary=message, root_causes=(cause,), occurrences=3),))
    text = terminal.render(report, width=120)
    assert "What happened" not in text
    assert "Happened    once to each of 3 members\n" in text
    assert "members payments-1, payments-2 and payments-3\n" in text
    assert "process-crash (97 % sure) in payments on prod, resolved." in text


def test_gaps_with_one_consequence_tell_it_once() -> None:
    gaps = [a_gap(f"No log of c-{n}.", "Its end is not known.") for n in range(5)]
    alone = a_gap("No broker log.", "Nothing of evictions.")
    text = terminal.render(replace(crash_report(), gaps=(*gaps, alone)), width=200)
    assert text.count("Its end is not known.") == 1
    assert "  - No log of c-2. 2 similar gaps not shown; --verbose shows every gap. Its end is not known.\n" in text
    assert "  - No broker log. Nothing of evictions.\n" in text
    assert terminal.render(replace(crash_report(), gaps=tuple(gaps)), verbosity=1).count("No log of c-") == 5


def test_what_is_missing_of_many_groups_is_read_once_and_hides_no_other_gap() -> None:
    groups = [f"orders-{n}" for n in range(9)]
    gaps = [
        replace(
            a_gap(f"The logs of group {group} end early.", f"Add the log of {group}-1."),
            group=group,
            template="The logs of group {group} end early.",
        )
        for group in groups
    ]
    alone = a_gap("No broker log.", "Nothing of evictions.")
    report = replace(crash_report(), gaps=(*gaps, alone))
    text = terminal.render(report, width=200)
    assert text.count("end early.") == 1
    assert "The logs of group orders-0 end early. 8 similar gaps not shown; --verbose shows every gap. Add" in text
    assert "No broker log" in text
    assert terminal.render(report, verbosity=1, width=200).count("end early.") == len(groups)


def a_gap(what: str, consequence: str) -> Gap:
    return Gap(what=what, started_at=None, ended_at=None, consequence=consequence)


def test_releases_that_lines_only_bound_are_distinguished() -> None:
    inputs = tuple(
        replace(crash_report().inputs[0], path=str(n), kafka_version=release)
        for n, release in enumerate(("3.9.1", ">=3.2", ">=2.8", None))
    )
    text = terminal.render_coverage(inputs)
    assert "Kafka 3.9.1; 2 files of 2.8, 3.2 or later." in text
    assert "1 file of Kafka 3.2 or later." in terminal.render_coverage(inputs[1:2])


def test_the_last_lines_repeat_the_verdict_that_has_scrolled_away() -> None:
    ending = " ".join(terminal.render(many_groups(30)).split()[-25:])
    assert "3 critical and 27 warnings; most urgent: process-crash (97 % sure) by client payments-2" in ending
    assert "still going on." in ending


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("report", [crash_report(), many_groups(12), hostile_report()])
def test_no_line_is_wider_than_the_terminal(report: Report, width: int) -> None:
    text = terminal.render(report, width=width, verbosity=1)
    assert max(map(cell_len, text.splitlines())) <= width


def test_without_colour_nothing_but_text_is_written() -> None:
    assert "\x1b" not in terminal.render(crash_report(), color=False)
    assert "\x1b[1;31m" in terminal.render(many_groups(12), color=True)


def test_every_incident_is_shown_in_full_on_request() -> None:
    text = terminal.render(many_groups(12), verbosity=1)
    assert text.count("Ruled out") == 12


def test_a_timeline_names_members_as_operators_do() -> None:
    assert_same("timeline-payments.txt", terminal.render_timeline(crash_report().groups[0]))


def test_a_storm_is_folded_and_nothing_but_the_repetition_is_left_out() -> None:
    storm = replace(payments(), generations=a_storm(300), pauses=())
    folded = terminal.render_timeline(storm)
    assert "generations 9-307  the same, 299 more times\n" in folded
    assert "!     SyncGroup failed: NOT_COORDINATOR (299 times)" in folded
    assert folded.count("  generation ") < 10
    whole = terminal.render_timeline(storm, verbosity=1)
    assert whole.count("SyncGroup failed: NOT_COORDINATOR") == 300
    assert "generation 307" in whole


def test_a_member_that_comes_and_goes_is_folded_by_the_round() -> None:
    there, away = payments().generations
    rounds = [replace(one, generation=7 + 2 * n + i) for n in range(20) for i, one in enumerate((there, away))]
    folded = terminal.render_timeline(replace(payments(), generations=tuple(rounds)))
    assert "generations 9-46  the same 2 generations, 19 more times" in folded


def test_generations_that_differ_are_all_shown() -> None:
    growing = [
        replace(payments().generations[0], generation=n, members=tuple(map(numbered_member, range(n))), joined=())
        for n in range(1, 9)
    ]
    text = terminal.render_timeline(replace(payments(), generations=tuple(growing)))
    assert "more times" not in text
    assert all(f"generation {n}  " in text for n in range(1, 9))


def test_for_a_large_generation_the_leader_and_the_new_members_are_listed() -> None:
    everybody = tuple(map(numbered_member, range(300)))
    large = replace(payments().generations[0], members=everybody, joined=("m-7",), leader="m-9", left=())
    text = terminal.render_timeline(replace(payments(), generations=(large,)))
    assert "+       client-7\n" in text
    assert "client-9 (leader)" in text
    assert "and 298 more of 300 members, 1 of them new" in text
    assert len(text.splitlines()) < 60
    whole = terminal.render_timeline(replace(payments(), generations=(large,)), verbosity=1)
    assert "client-299" in whole


def test_many_pauses_are_summed_up_by_member() -> None:
    one = payments().pauses[0]
    many = tuple(replace(one, started_at=at(10 * n), ended_at=at(10 * n + 1 + n / 100)) for n in range(100))
    text = terminal.render_timeline(replace(payments(), pauses=many))
    assert "payments-1  100 pauses, 2 min 30 s, the longest 2 s" in text
    assert text.count("  revoked ") == 10


def numbered_member(number: int) -> Member:
    return Member(member_id=f"m-{number}", client_id=f"client-{number}")


def a_storm(rounds: int) -> tuple[Generation, ...]:
    first, again = payments().generations
    same = replace(again, members=first.members, joined=(), left=(), failures=("SyncGroup failed: NOT_COORDINATOR",))
    return (first, *(replace(same, generation=8 + n, reason=f"member m-{n} rejoins") for n in range(rounds)))


def test_a_member_is_known_by_every_name_it_has() -> None:
    by_address = terminal.render_whois(crash_report(), "10.0.0.2")
    assert by_address == terminal.render_whois(crash_report(), "payments-2")
    assert_same("whois-payments-2.txt", by_address)


def test_a_part_of_a_name_finds_everyone_who_has_it() -> None:
    assert terminal.render_whois(crash_report(), "PAYMENTS").count("client payments-") == 3


def test_an_unknown_name_gets_the_known_ones() -> None:
    assert not terminal.is_known(crash_report(), "nobody")
    assert list(dict.fromkeys(terminal.all_names(crash_report())))[:3] == ["payments-1", "payments-2", "payments-3"]


def test_a_broker_is_known_by_the_groups_that_it_coordinates() -> None:
    text = terminal.render_whois(crash_report(), "broker-1")
    assert text.startswith(
        "broker broker-1\n  coordinates  payments on prod from 2026-03-01 10:00:00 UTC until the logs end"
    )


def test_a_file_is_known_by_the_path_that_a_shell_completes() -> None:
    by_path = terminal.render_whois(crash_report(), "/var/incident/payments-2/app.log")
    assert by_path == terminal.render_whois(crash_report(), "payments-2/app.log")


def test_a_topic_is_known_by_its_readers_and_what_they_read() -> None:
    read = (
        ReadSpan(partitions=("orders-0", "orders-1"), member="payments-1", started_at=at(2), ended_at=at(60)),
        ReadSpan(partitions=("orders-2",), member="payments-1", started_at=at(61), ended_at=None),
        ReadSpan(partitions=("audit-0",), member="payments-2", started_at=at(2), ended_at=None),
    )
    report = replace(crash_report(), groups=(replace(payments(), read=read),))
    assert terminal.render_whois(report, "orders") == (
        "topic orders\n  read by payments-1  orders 0-2, in payments on prod, 2026-03-01 10:00:02 UTC\n"
        "                      until the logs end\n"
    )


def test_each_member_id_is_listed_with_its_generations() -> None:
    text = " ".join(terminal.render_whois(crash_report(), "payments-2").split())
    assert "000000000002, generation 7, 2026-03-01 10:00:02 to 2026-03-01 10:02:11 " in text


def test_a_streams_thread_has_a_column_under_its_node_and_number() -> None:
    uuid = "60c180b6-c8f6-49b3-a32d-747c3ffe2840"
    threads = [
        Member(
            member_id=f"app-{uuid}-StreamThread-{n}-consumer-{n}",
            client_id=f"app-{uuid}-StreamThread-{n}-consumer",
            host="node-2",
        )
        for n in (1, 2, 10)
    ]
    generation = replace(
        payments().generations[0],
        members=tuple(threads),
        joined=(threads[2].member_id or "",),
        left=(),
        leader=threads[0].member_id,
        reason=f"Adding new member {threads[2].member_id}",
    )
    text = terminal.render_timeline(
        replace(payments(), kind="streams", generations=(generation,), pauses=()), width=100
    )
    assert "node-2/T1  node-2/T2  node-2/T10" in text
    assert "lead       member     joined" in text
    assert "reason  Adding new member node-2/T10\n" in text
    assert uuid not in text


def test_members_that_do_not_fit_next_to_each_other_are_abbreviated_by_letters_with_a_key() -> None:
    members = tuple(
        Member(member_id=f"m-{n}", client_id=f"search-indexer-prod-{n}", host=f"node-{n}") for n in range(1, 8)
    )
    before = replace(payments().generations[0], members=members[:6], joined=("m-6",), left=(), leader="m-1")
    after = replace(before, generation=8, members=members[1:], joined=("m-7",), left=("m-1",), leader="m-2")
    text = terminal.render_timeline(replace(payments(), generations=(before, after), pauses=()))
    assert "  A  search-indexer-prod-1 at node-1\n" in text
    assert "A  B  C  D  E  F  G" in text
    assert "generation 7  L  o  o  o  o  +  .  stable" in text
    assert "generation 8  -  L  o  o  o  o  +  stable" in text


def test_two_groups_of_other_names_are_compared_where_each_side_has_one() -> None:
    other = replace(crash_report(), groups=(replace(payments(), group="billing", rebalance_mode="cooperative"),))
    text = terminal.render_compare(crash_report(), other)
    assert "Group payments on prod and billing on prod\n" in text
    assert "rebalance mode eager cooperative" in " ".join(text.split())
    assert "only in" not in text


def test_before_and_after_show_only_what_differs() -> None:
    text = terminal.render_compare(healthy_report(), crash_report(), names=("before", "after"))
    assert_same("compare-before-after.txt", text)
    assert "session.timeout.ms" not in text


def test_compared_incidents_are_as_sure_as_the_report_says() -> None:
    cause = replace(a_crash().root_causes[0], confidence=0.29)  # 0.29 * 100 is 28.999…
    other = replace(a_crash(), root_causes=(cause,))
    assert re.search(r"confidence +97 % +29 %", terminal.render_compare(a_crash(), other))


def test_two_incidents_are_compared_fact_by_fact() -> None:
    startup, crash = crash_report().incidents
    assert_same("compare-incidents.txt", terminal.render_compare(startup, crash))


def test_a_report_compared_with_itself_has_no_differences() -> None:
    assert terminal.render_compare(crash_report(), crash_report()).count("no difference") == 2


@pytest.mark.parametrize("width", [80, 140])
def test_coverage_says_per_file_what_was_understood(width: int) -> None:
    assert_same(f"coverage-{width}.txt", terminal.render_coverage(crash_report().inputs, width=width))


def test_an_explanation_teaches() -> None:
    assert_same("explain-process-crash.txt", terminal.render_explain(EXPLANATION))


def test_a_duration_is_not_broken_between_its_number_and_its_unit() -> None:
    crash = replace(a_crash(), summary="payments-2 was out of the group for 10 s and 4 min 12 s")
    lines = [terminal.render(replace(crash_report(), incidents=(crash,)), width=w).splitlines() for w in range(40, 60)]
    assert not [line for text in lines for line in text[1:4] if line.endswith((" 10", " 4", " 12"))]


def test_lines_without_times_are_given_no_time_and_no_duration() -> None:
    started = EpochMs(ORDER_EPOCH + 1_000)
    one = replace(payments().generations[0], started_at=started, completed_at=EpochMs(started + 5_000))
    pause = replace(payments().pauses[0], started_at=started, ended_at=EpochMs(started + 2_000))
    history = replace(payments(), generations=(one,), pauses=(pause,), coordinators=(), reading=Reading())
    text = terminal.render_timeline(history)
    assert "no times  " in text
    assert "generation 7  +L +  +  stable, startup\n" in text
    assert "took" not in text
    assert "pause" not in text
    incident = replace(a_crash(), started_at=started, ended_at=EpochMs(started + 7_000), would_decide=())
    incidents = terminal.render(replace(crash_report(), incidents=(incident,), groups=(history,)))
    assert "When        the lines have no times\n" in incidents
    assert "unknown UTC" not in incidents


def test_an_exception_follows_the_line_that_logged_it_and_moves_no_cursor() -> None:
    text = "ERROR Poll failed\njava.lang.IllegalStateException: no\x1b[2J\nat org.example.W.assign(W.java:41)"
    assert lines_of(text, 200) == [
        "ERROR Poll failed",
        "java.lang.IllegalStateException: no\\x1b[2J",
        "at org.example.W.assign(W.java:41)",
    ]
    assert len(lines_of("x\n" * 900, 4_000)) <= 6


def test_incidents_of_several_groups_are_listed_before_the_first_as_many_as_asked_for() -> None:
    text = terminal.render(many_groups(30), top=2)
    table, _, rest = text.partition("\n\n")
    assert table.splitlines()[0] == "30 incidents, 3 critical and 27 warnings, in 30 of 30 groups:"
    assert len(table.splitlines()) == 5
    assert table.splitlines()[-1] == "  and 28 more; --top 30 shows them all"
    assert rest.startswith("CRITICAL  payments-eu-009")
    of_one = replace(many_groups(30), groups=many_groups(30).groups[:1])
    assert terminal.render(of_one).startswith("30 incidents, 3 critical and 27 warnings, in 30 groups:")
    assert not terminal.render(crash_report()).startswith("1 incident")


def test_a_clusters_incident_names_as_many_groups_as_asked_for_and_its_longest_stop() -> None:
    text = terminal.render(broker_down(25), top=3)
    assert "and 22 more groups; --top 25 lists them all" in text
    shown = re.findall(r"^payments-eu-\d+", text, re.MULTILINE)
    assert shown == ["payments-eu-000", "payments-eu-001", "payments-eu-002"]
    assert "longest stop of a whole group 3.2 s" in " ".join(text.split())


def test_what_is_planned_shows_what_it_cost() -> None:
    crash = replace(a_crash(), severity="info")
    text = " ".join(terminal.render(replace(crash_report(), incidents=(crash,))).split())
    assert "4 of 12 partitions unread for up to 4 s; whole group stopped for 3.2 s" in text


def test_what_was_read_adds_up() -> None:
    inputs = crash_report().inputs
    text = totals_of_inputs(inputs)
    numbers = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) (?:records|recognized|about)", text)]
    records, *parts = numbers
    assert records == sum(parts) == sum(log.records for log in inputs)


def test_names_in_a_narrow_table_break_after_hyphens() -> None:
    table = columns(("cause", "group"), [("coordinator-failover", "search-indexer-production-eu")])
    lines = [line.split() for line in printed([table], width=40, color=False).splitlines()]
    assert lines == [["cause", "group"], ["coordinator-", "search-indexer-"], ["failover", "production-eu"]]


def test_rows_whose_names_do_not_fit_next_to_each_other_are_blocks() -> None:
    table = columns(("cause", "group"), [("coordinator-failover", "search_indexer_production_eu")])
    assert printed([table], width=42, color=False).splitlines()[0].split() == ["cause", "group"]
    assert printed([table], width=41, color=False).splitlines() == [
        "coordinator-failover",
        "  group  search_indexer_production_eu",
    ]


def test_who_follows_logs_sees_the_state_of_the_groups_and_the_latest_incident_in_a_line() -> None:
    assert (
        terminal.at_this_moment(crash_report())
        == "payments stable, 2 members | last: process-crash, 10:02:11, resolved"
    )
    assert terminal.at_this_moment(many_groups(30)).startswith("30 groups: 30 stable | last: ")
    assert terminal.at_this_moment(empty_report()) == "no consumer group yet"


def test_a_log_of_days_is_read_day_by_day_and_what_repeats_names_its_group_once() -> None:
    often = [replace(a_crash(), id=f"{day:012x}", started_at=at(131 + DAY // 1000 * day)) for day in range(3)]
    screen = terminal.render(replace(crash_report(), incidents=(*often, a_startup())))
    assert re.search(r"day \(UTC\) .*\n2026-03-01 +1 warning +process-crash in payments on prod\n2026-03-02", screen)
    assert "process-crash (97 % sure)  payments on prod (twice)" in screen
    assert "day (UTC)" not in terminal.render(crash_report())
