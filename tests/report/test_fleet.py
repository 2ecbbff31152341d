"""Weeks of incidents: what a group cost, what comes back after which deployment, what changed, what is muted."""

from __future__ import annotations

from datetime import date

from rebalance_forensics.records import DAY_MS, HOUR_MS
from rebalance_forensics.report.fleet import (
    Fleet,
    FleetIncident,
    FleetTables,
    GroupCost,
    Known,
    Period,
    Rebalanced,
    Section,
    fleet_of,
    markdown,
)
from rebalance_forensics.report.html.fleet_page import fleet_page
from rebalance_forensics.report.incident_markdown import safe

END = 20_700 * DAY_MS
PERIOD = Period(start=END - 14 * DAY_MS, end=END)


def incident(
    days_ago: float,
    cause: str = "slow-processing",
    *groups: str,
    culprit: str = "payments-2",
    unread_ms: int | None = 1_000,
    severity: str = "warning",
) -> FleetIncident:
    return FleetIncident(
        id=f"{cause}-{days_ago}",
        cluster="prod",
        started_at=END - round(days_ago * DAY_MS),
        severity=severity,
        cause=cause,
        culprits=(culprit,),
        costs=tuple(
            GroupCost(group=group, unread_ms=unread_ms, severity=severity) for group in groups or ("payments",)
        ),
    )


def fleet(*incidents: FleetIncident, known: tuple[Known, ...] = (), rebalances: int = 0) -> Fleet:
    begun = tuple(Rebalanced(cluster="prod", group="payments", started_at=END - HOUR_MS) for _ in range(rebalances))
    return fleet_of(FleetTables(period=PERIOD, incidents=incidents, rebalances=begun), known)


def section(of: Fleet, name: str) -> Section:
    return next(each for each in of.sections if each.id == name)


def test_a_fault_that_comes_back_under_another_pod_name_is_one_story_with_the_deployment_before_it() -> None:
    found = fleet(
        incident(3.5, "rolling-restart", severity="info"),
        incident(3, culprit="payments-6f7c9d8b54-x2x9k"),
        incident(1, culprit="payments-58d9c7f6b4-qwe12"),
    )
    (row,) = section(found, "recurring").rows
    cells = dict(zip(section(found, "recurring").columns, row, strict=True))
    assert (cells["culprit"], cells["times"], cells["after"]) == ("payments-*", "2", "rolling-restart, 12 h before")


def test_unread_time_that_the_logs_do_not_show_is_not_none() -> None:
    def cell(*costs: int | None) -> str:
        found = fleet(*(incident(1 + n / 10, unread_ms=cost) for n, cost in enumerate(costs)))
        groups = section(found, "groups")
        return groups.rows[0][groups.columns.index("unread")]

    assert [cell(0), cell(None), cell(None, 2_000), cell(1_000, 2_000)] == [
        "none", "not in the logs", "at least 2 s", "3 s",
    ]  # fmt: skip


def test_what_one_broker_did_to_three_groups_is_one_incident_and_costs_each_group() -> None:
    found = fleet(incident(1, "coordinator-failover", "a", "b", "c", culprit="broker-1", severity="critical"))
    assert found.headline.startswith("1 incident (1 critical); faults in 3 of 3 groups")
    assert [row[0] for row in section(found, "groups").rows] == ["a", "b", "c"]


def test_changes_compare_the_last_week_with_the_one_before() -> None:
    found = fleet(incident(10), incident(9, "process-crash"), incident(2), incident(1), incident(1.5, "group-max-size"))
    assert found.changes == (
        "New: group-max-size in payments on prod, once.",
        "Not seen this week: process-crash in payments on prod; once the week before.",
        "More often: slow-processing in payments on prod, twice after once.",
        "Unread: 3 s this week, 2 s the week before.",
    )


def test_a_fault_is_not_more_frequent_because_it_is_no_longer_muted() -> None:
    until = date(2026, 9, 1)
    in_week = [incident(days) for days in (9, 8, 2, 1)]
    over = Known(cause="slow-processing", until=until)
    muted = [over.mutes(each) for each in in_week]
    assert muted == [True, True, False, False]
    assert not [line for line in fleet(*in_week, known=(over,)).changes if "slow-processing" in line]


def test_a_period_of_one_week_is_compared_with_the_week_before_it() -> None:
    period = Period(start=END - 7 * DAY_MS, end=END)
    found = fleet_of(FleetTables(period=period, incidents=(incident(9), incident(2)), rebalances=()))
    assert found.headline.startswith("1 incident")
    assert found.changes == ("Unread: 1 s this week, 1 s the week before.",)


def test_a_week_that_no_run_covers_is_compared_with_none() -> None:
    tables = FleetTables(period=PERIOD, incidents=(incident(1),), rebalances=(), is_comparable=False)
    assert fleet_of(tables).changes == ()


def test_weeks_long_ago_share_a_column() -> None:
    period = Period(start=END - 70 * DAY_MS, end=END)
    incidents = (incident(69), incident(57), incident(55))
    causes = section(fleet_of(FleetTables(period=period, incidents=incidents, rebalances=())), "causes")
    assert (len(causes.columns), causes.columns[1], causes.rows[0][1:3]) == (12, "earlier", ("2", "1"))


def test_what_a_team_accepted_is_muted_until_a_day_and_counted() -> None:
    known = Known(cause="slow-*", group="pay*", until=date(2026, 9, 2), why="OPS-12")
    found = fleet(incident(3), incident(1), incident(3, "process-crash", "payments"), known=(known,))
    assert found.headline == "2 incidents (2 warnings); faults in 1 of 1 group; 0 rebalances; 1 known incident muted."
    assert section(found, "muted").rows == (("cause slow-*, group pay*", "2026-09-02, over", "1", "1 s", "OPS-12"),)


def test_an_incident_of_several_groups_is_muted_only_where_all_its_groups_are_accepted() -> None:
    broad, narrow = Known(group="*s"), Known(group="payments")
    both = incident(1, "coordinator-failover", "payments", "orders")
    assert broad.mutes(both)
    assert not narrow.mutes(both)


def test_a_group_without_incidents_is_listed_with_its_rebalances() -> None:
    groups = section(fleet(rebalances=3), "groups")
    assert dict(zip(groups.columns, groups.rows[0], strict=True))["rebalances"] == "3"


def test_names_from_logs_are_no_markup_on_the_page_or_in_markdown() -> None:
    found = fleet(incident(1, "process-crash", "<b>|x"), incident(2, "process-crash", "<b>|x"))
    assert "<b>" not in fleet_page(found, "1")
    assert "<b>|" not in "\n".join(markdown(found, safe))
