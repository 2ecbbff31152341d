"""Summaries of the input files: counts summed over splits, times on the common clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics import defects
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.stats import HostStats, SplitStats
from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.timeline.clocks.file_clocks import FileClock

Clocks = Mapping[tuple[str, str | None], FileClock]


def summaries(plan: ReadPlan, stats: Iterable[SplitStats], clocks: Clocks) -> tuple[InputSummary, ...]:
    """One summary per file, plus one per host for a file with lines of several hosts; sorted by path."""
    by_path: dict[str, list[SplitStats]] = defaultdict(list)
    for split in sorted(stats, key=lambda s: (s.path, s.start)):
        by_path[split.path].append(split)
    read = (
        summary
        for file, profile in zip(plan.files, plan.profiles, strict=True)
        for summary in _summed(plan, file, profile, by_path[file.path], clocks)
    )
    unread = (_unread(plan, path, sentence) for path, sentence, _ in plan.errors)
    return tuple(sorted([*read, *unread], key=lambda s: (s.path, s.host or "", s.errors)))


def _summed(
    plan: ReadPlan, file: InputFile, profile: FileProfile, splits: Sequence[SplitStats], clocks: Clocks
) -> Sequence[InputSummary]:
    try:
        return tuple(_of_file(plan, file, profile, splits, clocks))
    except Exception as error:  # noqa: BLE001 - whatever it was, it is reported in place of the counts
        sentence = defects.sentence("what was read of it could not be added up", error)
        return (replace(_unread(plan, file.path, sentence), is_lost=True),)


def merged_clocks(clocks: Iterable[FileClock]) -> Clocks:
    """One clock per file and host; if groups disagree, the one with the most known, then the smallest skew."""
    best: dict[tuple[str, str | None], FileClock] = {}
    for clock in sorted(clocks, key=_ignorance):
        best.setdefault((clock.path, clock.host), clock)
    return best


def _ignorance(clock: FileClock) -> tuple[bool, bool, int, int]:
    return clock.skew_ms is None, clock.zone is None, abs(clock.skew_ms or 0), clock.shift_ms


def _of_file(
    plan: ReadPlan, file: InputFile, profile: FileProfile, splits: Sequence[SplitStats], clocks: Clocks
) -> Iterator[InputSummary]:
    hosts = _merged_hosts(splits)
    several = len(hosts) > 1
    only_host = profile.host or (hosts[0].host if len(hosts) == 1 else None)
    clock = None if several else clocks.get((file.path, only_host)) or clocks.get((file.path, None))
    moved = _onto(clock)
    yield InputSummary(
        path=file.path,
        cluster=plan.reading.cluster_of(file.path),
        host=only_host,
        component=profile.component,
        kafka_version=next((s.kafka_version for s in splits if s.kafka_version), profile.kafka_version),
        layout=profile.layout,
        envelope="+".join(profile.envelopes) or None,
        zone=profile.zone or (clock.zone if clock else None),
        clock_skew_ms=clock.skew_ms if clock else None,
        bytes=sum(s.bytes for s in splits),
        lines=sum(s.lines for s in splits),
        records=sum(s.records for s in splits),
        matched=sum(s.matched for s in splits),
        unmatched_kafka=sum(s.unmatched_kafka for s in splits),
        unparsed=sum(s.unparsed for s in splits),
        first=moved(min((s.first for s in splits if s.first is not None), default=None)),
        last=moved(max((s.last for s in splits if s.last is not None), default=None)),
        errors=tuple(dict.fromkeys([*profile.defects, *(sentence for s in splits for sentence in s.sentences)])),
    )
    if several:
        yield from (_of_host(plan, file, profile, host, clocks) for host in hosts)


def _of_host(plan: ReadPlan, file: InputFile, profile: FileProfile, host: HostStats, clocks: Clocks) -> InputSummary:
    # The part of one host; what is not counted per host is only in the summary of the whole file.
    clock = clocks.get((file.path, host.host))
    moved = _onto(clock)
    return InputSummary(
        path=file.path,
        cluster=plan.reading.cluster_of(file.path),
        host=host.host,
        component=profile.component_of(host.host) or None,
        kafka_version=host.kafka_version,
        layout=profile.layout,
        envelope="+".join(profile.envelopes) or None,
        zone=dict(profile.zones).get(host.host) or profile.zone or (clock.zone if clock else None),
        clock_skew_ms=clock.skew_ms if clock else None,
        records=host.matched + host.unmatched_kafka,
        matched=host.matched,
        unmatched_kafka=host.unmatched_kafka,
        first=moved(host.first),
        last=moved(host.last),
    )


def _merged_hosts(splits: Sequence[SplitStats]) -> list[HostStats]:
    by_host: dict[str, list[HostStats]] = defaultdict(list)
    for split in splits:
        for host in split.hosts:
            by_host[host.host].append(host)
    return [
        HostStats(
            host=name,
            kafka_version=next((p.kafka_version for p in parts if p.kafka_version), None),
            matched=sum(p.matched for p in parts),
            unmatched_kafka=sum(p.unmatched_kafka for p in parts),
            first=min((p.first for p in parts if p.first is not None), default=None),
            last=max((p.last for p in parts if p.last is not None), default=None),
        )
        for name, parts in sorted(by_host.items())
    ]


def _onto(clock: FileClock | None) -> Callable[[EpochMs | None], EpochMs | None]:
    def moved(at: EpochMs | None) -> EpochMs | None:
        return at if at is None or clock is None else clock.on_group_clock(at)

    return moved


def _unread(plan: ReadPlan, path: str, sentence: str) -> InputSummary:
    return InputSummary(path=path, cluster=plan.reading.cluster_of(path), errors=(sentence,))
