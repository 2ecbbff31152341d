from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Culprit, Impact
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.html.budget import FEWEST, Budget
from rebalance_forensics.report.html.content import content_of
from rebalance_forensics.report.html.overview import days_of
from rebalance_forensics.report.html.shapes import Picture, Row, legend
from rebalance_forensics.report.html.tables import figures_of, hours_of
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.rebalance_patterns import over_hours
from rebalance_forensics.timeline.model import BrokerOutage, Generation, Lane, Member, Span
from tests.report.building import a_crash, at, crash_report, payments
from tests.report.extremes import many_events, many_groups
from tests.report.owned import owned_report

THREAD = "shop-225712b8-b54d-4043-a7e1-c489ee4f8fd5-StreamThread-1"


def first_picture(report: Report) -> Picture:
    return content_of(report).pictures[0]


def history_picture(report: Report) -> Picture:
    return content_of(report).pictures[-1]


def dots(picture: Picture) -> int:
    return sum(len(row.dots) for row in picture.rows)


def row_of(picture: Picture, label: str) -> Row:
    return next(row for row in picture.rows if row.label == label)


def a_streams_report() -> Report:
    member = Member(member_id=f"{THREAD}-consumer-1b4e28ba", client_id=f"{THREAD}-consumer", host="node-1")
    generation = Generation(
        generation=7,
        started_at=at(120),
        completed_at=at(121),
        trigger="startup",
        leader=member.member_id,
        members=(member,),
        outcome="stable",
    )
    span = Span(started_at=at(121), ended_at=None, kind="member", label="generation 7", generation=7)
    lanes = (
        Lane(name="node-1", kind="instance", spans=(span,)),
        Lane(name=THREAD, kind="thread", spans=(span,), owner="node-1"),
        Lane(name="connector-consumer-orders-sink-to-the-lake-0", kind="client", spans=(span,)),
    )
    return replace(crash_report(), groups=(replace(payments(), generations=(generation,), lanes=lanes),))


def test_the_most_urgent_picture_gets_what_it_needs_though_many_come_after_it() -> None:
    busy = many_events(3_000)
    report = replace(many_groups(40), inputs=busy.inputs)
    urgent = replace(busy.groups[0], group="busy")
    worst = Impact(unread_partition_ms=10**9, pause_ms=10**9, members=40, partitions=40, rebalances=30)
    crash = replace(a_crash(), id="busy", group="busy", severity="critical", ongoing=True, ended_at=None, impact=worst)
    picture = first_picture(replace(report, groups=(urgent, *report.groups), incidents=(crash, *report.incidents)))
    assert picture.group == "busy"
    assert dots(picture) > 10 * FEWEST


def test_every_later_picture_may_still_show_something() -> None:
    budget = Budget(pictures=79)
    for left in range(79, -1, -1):
        room = budget.marks.room(left)
        assert room >= FEWEST
        budget.marks.left -= room


def test_the_first_picture_may_have_many_lanes_and_the_last_still_has_some() -> None:
    budget = Budget(pictures=80)
    rooms = []
    for left in range(79, -1, -1):
        rooms.append(budget.lanes.room(left))
        budget.lanes.left -= rooms[-1]
    assert rooms[0] == 80
    assert rooms[-1] >= 12
    assert sum(rooms) <= 3_000


def test_if_not_all_spans_fit_the_shortest_are_omitted_and_this_is_stated() -> None:
    picture = first_picture(many_events(100_000))
    widths = [bar.width for row in picture.rows for bar in row.bars]
    assert any("stretches, the shortest first" in sentence for sentence in picture.left_out)
    assert len(widths) <= 6_000


def test_a_picture_ends_where_the_logs_of_its_cluster_end() -> None:
    report = many_groups(1)
    other = replace(report.inputs[0], path="other.log", cluster="staging", last=at(90_000))
    ongoing = tuple(replace(one, ongoing=True, ended_at=None) for one in report.incidents)
    alone = first_picture(replace(report, incidents=ongoing))
    beside = first_picture(replace(report, incidents=ongoing, inputs=(*report.inputs, other)))
    assert beside.ended_at == alone.ended_at


def test_a_thread_is_named_as_on_the_terminal() -> None:
    picture = first_picture(a_streams_report())
    assert row_of(picture, "node-1/T1").name == THREAD


def test_a_long_name_keeps_its_end() -> None:
    labels = [row.label for row in first_picture(a_streams_report()).rows]
    assert "connector-cons…s-sink-to-the-lake-0" in labels


def test_the_thread_that_leads_and_its_instance_are_drawn_leading() -> None:
    picture = first_picture(a_streams_report())
    leading = [row.label for row in picture.rows if any(bar.kind == "leading" for bar in row.bars)]
    assert leading == ["node-1", "node-1/T1"]


def with_generations(*generations: Generation, lanes: tuple[Lane, ...] = ()) -> Report:
    return replace(crash_report(), groups=(replace(payments(), generations=generations, lanes=lanes, pauses=()),))


def a_generation(number: int, start: float, done: float, followup: str | None = None) -> Generation:
    return Generation(
        generation=number,
        started_at=at(start),
        completed_at=at(done),
        trigger=followup or "process-crash",
        leader=None,
        outcome="stable",
        followup=followup,
    )


def test_a_follow_up_is_drawn_otherwise_than_the_rebalance_that_asked_for_it() -> None:
    report = with_generations(a_generation(7, 60, 62), a_generation(8, 62.5, 63, "cooperative"))
    bars = row_of(history_picture(report), "generations").bars
    labels = {bar.label for bar in bars if bar.kind == "follow-up"}
    assert labels == {"generation 8, rebalancing, took 500 ms, cooperative follow-up"}
    assert [bar.label.split(",")[0] for bar in bars if bar.kind == "rebalancing"] == ["generation 7"]
    assert '<g class="bar follow-up">' in to_html(report)


def test_a_follow_up_whose_begin_no_line_tells_is_drawn_where_it_ends() -> None:
    followup = replace(a_generation(8, 62, 63, "probing"), started_at=None)
    bars = row_of(history_picture(with_generations(a_generation(7, 60, 62), followup)), "generations").bars
    assert [(bar.started_at, bar.width) for bar in bars if bar.kind == "follow-up"] == [(at(63), 0)]


def test_a_group_is_drawn_empty_from_the_moment_at_which_its_coordinator_logged_it() -> None:
    emptied = replace(a_generation(8, 64, 64), started_at=None, completed_at=None, outcome="empty", emptied_at=at(64))
    bars = row_of(history_picture(with_generations(a_generation(7, 60, 62), emptied)), "generations").bars
    assert [(bar.kind, bar.started_at) for bar in bars if bar.kind != "rebalancing"] == [
        *(("stable", at(62)), ("empty", at(64)))
    ]


def test_the_legend_holds_what_is_drawn_and_nothing_else() -> None:
    quiet = with_generations(a_generation(7, 60, 62), lanes=(replace(payments().lanes[0], marks=()),))
    assert [meaning for _, meaning in legend(history_picture(quiet), "members")] == [
        *("rebalancing", "stable; of a broker: coordinates")
    ]
    labels = [meaning for _, meaning in legend(first_picture(crash_report()), "members")]
    assert {"member", "leads", "partitions unread (height = count)", "not in the group", "fault"} <= set(labels)
    assert "follow-up rebalance" not in labels


def test_a_lane_says_so_where_its_member_is_not_in_the_group() -> None:
    span = Span(started_at=at(62), ended_at=at(63), kind="member", label="generation 7", generation=7)
    lane = replace(next(lane for lane in payments().lanes if lane.kind == "client"), spans=(span,), marks=())
    bars = row_of(history_picture(with_generations(a_generation(7, 60, 70), lanes=(lane,))), lane.name).bars
    assert [bar.label for bar in bars if bar.kind == "absent"] == [
        *("not in the group yet", "not in the group, as far as the logs show")
    ]


def test_a_crowd_of_marks_is_drawn_small_and_many_at_one_moment_are_not() -> None:
    lane = next(lane for lane in payments().lanes if any(mark.severity == "fault" for mark in lane.marks))
    fault = next(mark for mark in lane.marks if mark.severity == "fault")
    crowd = replace(lane, marks=tuple(replace(fault, at=at(60 * n)) for n in range(60)))
    at_once = replace(lane, name="another", marks=(fault,) * 60)
    rows = history_picture(with_generations(lanes=(crowd, at_once))).rows
    assert [row.dense for row in rows] == [True, False]


def test_no_lane_is_drawn_for_unlogged_generations() -> None:
    lanes = (Lane(name="payments-1", kind="client", spans=payments().lanes[1].spans),)
    assert [row.label for row in history_picture(with_generations(lanes=lanes)).rows] == ["payments-1"]


def test_of_generations_close_together_the_longest_one_is_labelled_with_its_number() -> None:
    short, lasting = a_generation(7, 100, 101), a_generation(8, 101.5, 102)
    report = with_generations(a_generation(6, 10, 12), short, lasting, a_generation(9, 200, 201))
    texts = [number.text for number in history_picture(report).numbers]
    assert "8" in texts
    assert "7" not in texts


@pytest.mark.long
def test_a_page_of_busy_groups_with_long_names_and_lines_stays_below_ten_megabytes() -> None:
    busy = many_events(2_500).groups[0]
    lanes = tuple(
        replace(
            lane,
            name=f"{lane.name}-{'consumer-of-a-team-with-long-names-' * 3}",
            marks=tuple(
                replace(mark, evidence=replace(mark.evidence, path=f"{number}/{mark.evidence.path}", text="x" * 3_000))
                for mark in lane.marks
            ),
        )
        for number, lane in enumerate(busy.lanes)
    )
    story = "because of a long story " * 20
    generations = tuple(replace(one, reason=f"{one.generation} {story}") for one in busy.generations)
    groups = tuple(
        replace(busy, group=f"payments-{number:02d}", lanes=lanes, generations=generations) for number in range(40)
    )
    incidents = tuple(replace(a_crash(), id=f"{number:012x}", group=group.group) for number, group in enumerate(groups))
    text = to_html(replace(crash_report(), groups=groups, incidents=incidents))
    assert len(text.encode()) < 10_000_000


def test_a_broker_that_is_down_is_drawn_as_out_of_service() -> None:
    crash, history = a_crash(), payments()
    broker = next(lane.name for lane in history.lanes if lane.kind == "broker")
    blamed = replace(crash.root_causes[0], culprits=(Culprit(kind="broker", name=broker),))
    outage = BrokerOutage(broker=broker, started_at=at(131), ended_at=at(134), how="lost")
    groups = (replace(history, outages=(outage,)),)
    report = replace(crash_report(), groups=groups, incidents=(replace(crash, root_causes=(blamed,)),))
    picture = first_picture(report)
    assert [(bar.started_at, bar.label) for bar in row_of(picture, broker).bars if bar.kind == "out"] == [
        (at(131), "went down")
    ]


BROKER = (Culprit(kind="broker", name="broker-1"),)


@pytest.mark.parametrize(
    ("confidence", "blamed", "why"),
    [(0.4, None, "silent"), (0.55, None, "silent"), (0.9, None, "dead"), (0.9, BROKER, "silent")],
)
def test_a_guess_or_a_brokers_fault_is_drawn_as_the_silence_that_the_logs_show(
    confidence: float, blamed: tuple[Culprit, ...] | None, why: str
) -> None:
    report = owned_report()
    causes = ((incident, incident.root_causes[0]) for incident in report.incidents)
    incidents = tuple(
        replace(incident, root_causes=(replace(cause, confidence=confidence, culprits=blamed or cause.culprits),))
        for incident, cause in causes
    )
    picture = content_of(replace(report, incidents=incidents)).pictures[0]
    looks = {bar.look for row in picture.rows for bar in row.bars if bar.kind == "unread"}
    assert why in looks
    assert not looks & ({"dead", "silent"} - {why})


def test_an_arrow_leads_from_a_members_loss_to_the_rebalance_that_it_caused() -> None:
    pictures = {picture.id: picture for picture in content_of(crash_report()).pictures}
    (arrow,) = pictures["picture-0"].arrows
    rows = pictures["picture-0"].rows
    caused = [bar for bar in rows[arrow.to_row].bars if bar.kind == "rebalancing"]
    assert (rows[arrow.row].name, arrow.to) == ("payments-2", caused[0].started_at)
    # The members of the start joined in a rebalance of another incident.
    assert pictures["picture-1"].arrows == ()


def test_figures_show_how_a_group_fared_and_nothing_that_the_logs_do_not_show() -> None:
    report = with_generations(a_generation(7, 60, 62), a_generation(8, 90, 91), a_generation(9, 158, 160))
    (group,) = report.groups
    assert dict(figures_of(replace(group, coordinators=()))) == {
        "Stable": "95.0 % of 1 min 40 s",
        "Rebalances": "3 rebalances in 1 min 40 s",
        "A rebalance took": "2 s (median), 95 % within 2 s",
    }
    owned = dict(figures_of(owned_report().groups[0]))
    assert owned["Partition time unread"] == "3 min 04 s"
    assert owned["Worst member"] == "payments-2, 3 min 04 s"


def test_a_log_of_days_says_when_the_group_rebalanced_most_and_for_what() -> None:
    hour = 3_600
    report = with_generations(*(a_generation(n, at, at + 2) for n, at in enumerate((60, 90, 3 * hour, 30 * hour))))
    (group,) = report.groups
    assert dict(over_hours(group)) == {
        "Busiest hours": "2026-03-01 10:00 UTC (2), 2026-03-01 13:00 UTC (1), 2026-03-02 16:00 UTC (1)",
        "Began by": "process-crash (4 times)",
        "Missing most": "payments-2",
    }
    first, last = hours_of(group)
    assert (last[0] - first[0], sum(first[1]), first[1][10], last[1][16]) == (24 * hour * 1_000, 3, 2, 1)
    assert [*hours_of(crash_report().groups[0])] == []


def test_logs_of_several_days_have_an_index_of_them_that_leads_to_the_worst_of_each() -> None:
    crash = a_crash()
    day = 24 * 3_600_000
    calm = replace(crash, id="calm", severity="info", started_at=crash.started_at + 60_000)
    later = replace(crash, id="later", started_at=crash.started_at + 2 * day)
    first, last = days_of([crash, calm, later], {"later"})
    assert (first.target, dict(first.number)) == (f"listed-{crash.id}", {crash.severity: 1, "info": 1})
    assert (last.at - first.at, last.target) == (2 * day, "incident-later")
    assert days_of([crash, calm], {}) == ()
