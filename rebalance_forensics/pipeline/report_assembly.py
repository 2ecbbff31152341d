"""Assembles the report from the results, in the driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from rebalance_forensics import __version__, defects
from rebalance_forensics.diagnosis.case import CaseOutline
from rebalance_forensics.diagnosis.cluster.incidents import ClusterIncidents, Whole, cluster_incidents
from rebalance_forensics.diagnosis.gaps import once_for_each_log
from rebalance_forensics.diagnosis.model import Gap, Headline, Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.results import Cases, Results
from rebalance_forensics.pipeline.summaries import merged_clocks, summaries
from rebalance_forensics.process.resources import collecting_rarely
from rebalance_forensics.records import EpochMs, is_dated, natural
from rebalance_forensics.report.lazy_list import LazyList
from rebalance_forensics.report.model import InputSummary, Report
from rebalance_forensics.timeline.identity.log_names import is_called_gc_log
from rebalance_forensics.timeline.model import GroupHistory, Leadership, Reading
from rebalance_forensics.timeline.unnamed_groups import SpeakerKey


def report_of(plan: ReadPlan, results: Results, options: AnalyzeOptions) -> Report:
    """The report, independent of the order of the cases."""
    outlines = results.cases.outlines
    places = sorted(not_named_elsewhere(outlines), key=lambda place: _in_order(outlines[place]))
    with collecting_rarely():
        shared, defect = relate_incidents(
            [outlines[place] for place in places], lambda case, number: results.cases.incident(places[case], number)
        )
    inputs = summaries(plan, results.stats, merged_clocks(c for place in places for c in outlines[place].clocks))
    inputs = _by_cluster(inputs, {outlines[place].history.cluster for place in places})
    selected = [place for place in places if options.group in (None, outlines[place].history.group)]
    gaps = set(once_for_each_log({gap for place in selected for gap in outlines[place].gaps}))
    gaps |= {
        Gap(what=each.what, consequence=each.consequence, kind="failed", is_defect=True) for each in results.failures
    }
    gaps |= set(defect)
    if not places and not gaps:
        gaps |= set(_no_group(inputs))
    gaps |= {_late(file.path) for file, of in zip(plan.files, plan.profiles, strict=True) if of.late and not of.zone}
    by_age = {file.path for file, of in zip(plan.files, plan.profiles, strict=True) if of.day_by_age}
    gaps |= {_without_day(log) for log in inputs if log.path in by_age and log.matched}
    gaps |= {_unread_gc_log(log) for log in inputs if log.lines and not log.records and is_called_gc_log(log.path)}
    histories = LazyList(
        [outlines[place].history for place in selected], lambda number: results.cases.history(selected[number])
    )
    return within(
        Report(
            tool_version=__version__,
            inputs=inputs,
            groups=histories.changed(shared.in_history),
            incidents=_incidents(results.cases, selected, shared),
            gaps=tuple(sorted(gaps, key=_place)),
        ),
        options,
    )


def _by_cluster(inputs: Sequence[InputSummary], clusters: Collection[str]) -> tuple[InputSummary, ...]:
    # The inputs; with one cluster per directory, under the name of the directory.
    directories = set(clusters) - {summary.cluster for summary in inputs}

    def cluster_of(summary: InputSummary) -> str:
        return next((name for name in summary.path.split("/")[:-1] if name in directories), summary.cluster)

    return tuple(replace(summary, cluster=cluster_of(summary)) for summary in inputs)


def _incidents(cases: Cases, selected: Sequence[int], shared: ClusterIncidents) -> LazyList[Incident, Headline]:
    # In the order of the report: incidents of a cluster precede those of its groups.
    names = {_name(cases.outlines[place]) for place in selected}
    placed: list[tuple[Headline, Incident | tuple[int, int]]] = [
        (incident, incident)
        for incident in shared.incidents
        if not names.isdisjoint((incident.cluster, group) for group in incident.group_names)
    ]
    for place in selected:
        for number, headline in enumerate(cases.outlines[place].incidents):
            if headline.id not in shared.cluster_incident_of:
                placed.append((headline, (place, number)))
    placed.sort(key=lambda pair: (pair[0].cluster, natural(pair[0].group or ""), pair[0].started_at, pair[0].id))

    def whole(number: int) -> Incident:
        _, found = placed[number]
        return shared.related(cases.incident(*found)) if isinstance(found, tuple) else found

    return LazyList([headline for headline, _ in placed], whole)


def relate_incidents(cases: Sequence[CaseOutline], whole: Whole) -> tuple[ClusterIncidents, tuple[Gap, ...]]:
    """The incidents of clusters, and how the others are related; a gap instead if this program fails to find them."""
    try:
        return cluster_incidents(cases, whole), ()
    except Exception as error:  # noqa: BLE001 - whatever it was, each group's case is complete without
        gap = Gap(
            what="What the incidents of different groups have in common could not be determined: "
            f"{defects.describe(error)}",
            consequence=f"each incident is shown by itself; {defects.ASK}",
            is_defect=True,
        )
        return ClusterIncidents(), (gap,)


def groups_in(results: Results) -> list[str]:
    """Every group in the logs, whether selected or not."""
    outlines = results.cases.outlines
    return sorted({outlines[place].history.group for place in not_named_elsewhere(outlines)}, key=natural)


def _late(path: str) -> Gap:
    return Gap(
        what=f"The time zone of {path} is not known: its lines were collected at times that no zone explains.",
        consequence="Its times are read as UTC and may not match the other files; --tz HOST=ZONE sets it.",
    )


def _unread_gc_log(log: InputSummary) -> Gap:
    return Gap(
        what=f"{log.path} is called a GC log, and none of its lines is in a format that is read.",
        consequence="Whether a garbage collection stopped that process is not known from it. GC logs of HotSpot "
        "(-Xlog:gc*,safepoint; -XX:+PrintGCDetails) and of OpenJ9 (-Xverbosegclog) are read.",
    )


def _without_day(log: InputSummary) -> Gap:
    shown = "on the day on which the file was last changed" if is_dated(log.first) else "without a day"
    return Gap(
        what=f"The day of {log.path} is not known: its lines have a time of day and no date.",
        started_at=log.first,
        ended_at=log.last,
        consequence=f"They are shown {shown}; a date in its name (app-2026-11-21.log) sets it.",
    )


def _no_group(inputs: Sequence[InputSummary]) -> Iterator[Gap]:
    # Kafka logs that mention no group show neither a healthy group nor a problem.
    kafka_logs = [log for log in inputs if log.matched or log.unmatched_kafka]
    if kafka_logs:
        yield Gap(
            what=f"Too little to judge any group: no line of {'this log' if len(kafka_logs) == 1 else 'these logs'} "
            "names a consumer group or shows what a member of one did.",
            started_at=min((log.first for log in kafka_logs if log.first is not None), default=None),
            ended_at=last_of(kafka_logs),
            consequence="Whether a group is healthy is unknown: server.log of every broker (one of them is the "
            "group's coordinator) and the clients' logs, all at INFO and from before the trouble began, would show it.",
            kind="too-little",
        )


def within(report: Report, options: AnalyzeOptions) -> Report:
    """The report, restricted to `since` and `until`; identities and inputs stay complete."""
    end = last_of(report.inputs)
    since = options.since.resolve(end) if options.since else None
    until = options.until.resolve(end) if options.until else None
    if since is None and until is None:
        return report

    def overlaps(start: EpochMs | None, stop: EpochMs | None) -> bool:
        return (until is None or start is None or start < until) and (since is None or stop is None or stop >= since)

    def shortened(group: GroupHistory) -> GroupHistory:
        return replace(
            group,
            generations=tuple(
                generation
                for generation, following in zip(group.generations, [*group.generations[1:], None], strict=True)
                if overlaps(
                    generation.started_at or generation.completed_at, following.started_at if following else None
                )
            ),
            pauses=tuple(p for p in group.pauses if overlaps(p.started_at, p.ended_at)),
            reading=_reading_within(group.reading, overlaps),
        )

    incidents = report.lazy_incidents
    return replace(
        report,
        groups=report.lazy_groups.changed(shortened),
        incidents=incidents.at([n for n, i in enumerate(incidents.outlines) if overlaps(i.started_at, i.ended_at)]),
        gaps=tuple(g for g in report.gaps if overlaps(g.started_at, g.ended_at)),
    )


def _reading_within(reading: Reading, overlaps: Callable[[EpochMs | None, EpochMs | None], bool]) -> Reading:
    rounds = tuple(
        participation for participation in reading.participants if overlaps(participation.at, participation.at)
    )
    changes = tuple(change for change in reading.leadership.changes if overlaps(change.at, change.at))
    led = sum(participation.leader is not None for participation in rounds)
    return Reading(
        leadership=Leadership(stable=not changes if led > 1 else None, changes=changes),
        close_together=tuple(burst for burst in reading.close_together if overlaps(burst.started_at, burst.ended_at)),
        spacings=tuple(
            spacing for spacing in reading.spacings if overlaps(EpochMs(spacing.at - spacing.gap_ms), spacing.at)
        ),
        participants=rounds,
    )


def last_of(inputs: Iterable[InputSummary]) -> EpochMs | None:
    """The latest time in the inputs; None if they have no times."""
    return max((log.last for log in inputs if log.last is not None), default=None)


def _name(case: CaseOutline) -> tuple[str, str]:
    return case.history.cluster, case.history.group


def _in_order(case: CaseOutline) -> tuple[object, ...]:
    return case.history.cluster, natural(case.history.group), case.history.group


def _place(gap: Gap) -> tuple[bool, int, str, int, str]:
    return gap.started_at is None, gap.started_at or 0, gap.what, gap.ended_at or 0, gap.consequence


def not_named_elsewhere(cases: Sequence[CaseOutline]) -> list[int]:
    """The indexes of all cases except those of unnamed groups whose lines belong to a group with a name.

    Lines of brokers about no particular client belong to the groups with a name, if there are any.
    """
    named: set[tuple[str, str]] = set()
    tied: dict[str, set[SpeakerKey]] = defaultdict(set)
    for case in cases:
        if not case.from_unnamed:
            named.add((case.history.cluster, case.history.group))
            # A line without a client id belongs to the client that writes this log.
            tied[case.history.cluster] |= {*case.speakers, *((host, log, None) for host, log, _ in case.speakers)}

    def is_elsewhere(case: CaseOutline) -> bool:
        cluster, group = case.history.cluster, case.history.group
        if not case.speakers:
            return case.from_unnamed and any(cluster == other for other, _ in named)
        return case.from_unnamed and ((cluster, group) in named or tied[cluster].issuperset(case.speakers))

    return [place for place, case in enumerate(cases) if not is_elsewhere(case)]
