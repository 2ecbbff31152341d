"""What a file is, told from its beginning and a sample of its middle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources import dates, layouts, rotation, suffixes, zones
from rebalance_forensics.sources.components import component_of, release_of
from rebalance_forensics.sources.files import InputFile
from rebalance_forensics.sources.hosts import host_of
from rebalance_forensics.sources.layouts.base import Layout
from rebalance_forensics.sources.marking import marks_of
from rebalance_forensics.sources.sample import Sample, Sampled, sample_of
from rebalance_forensics.sources.stamps import DateOrder
from rebalance_forensics.sources.torn_lines import ends_with_logger
from rebalance_forensics.sources.zones import ZoneRules

_UNTIMED = range(80, 90)
"""The ranks of layouts without a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProfile:
    """How to read a file, and what it says about itself.

    `layouts` are all those seen, `starts` the bytes their headers begin with. `header_marks` are bytes that tell a
    header inside an envelope: none where every line is a record, None where they cannot be told. `zone` is that of
    local times in this file, None when nothing tells it; `zones` and `components` say the same for each host of a
    stream of several, as far as the sample shows.
    `midnight_ms` is the local midnight before the first record, for layouts without a date; `near_ms` is not far from
    any record, for dates without a year; `date_order` is that of 11/12/2026.
    `newest_first` exports have each record's continuation lines before it. `document` names a format that is
    not one record or event a line; of `suffixed` logs each message ends with a context, of `closed` ones nearly each
    record with its logger in parentheses. A rolled file may begin in the middle of a record (`continued`), and its last
    record go on in the files that were written after it; of a log that is `cut_by_size` it goes on in mid-line.
    """

    layout: str = layouts.UNKNOWN
    layouts: tuple[str, ...] = ()
    envelopes: tuple[str, ...] = ()
    component: str | None = None
    components: tuple[tuple[str, str], ...] = ()
    kafka_version: str | None = None
    host: str | None = None
    zone: str | None = None
    zones: tuple[tuple[str, str], ...] = ()
    midnight_ms: int | None = None
    near_ms: int | None = None
    date_order: DateOrder | None = None
    newest_first: bool = False
    document: str | None = None
    starts: tuple[bytes, ...] = ()
    header_marks: tuple[bytes, ...] | None = None
    dated: bool = True
    partly_dated: bool = False
    suffixed: bool = False
    closed: bool = False
    continued: bool = False
    cut_by_size: bool = False
    continues_in: tuple[InputFile, ...] = ()

    def component_of(self, host: str | None) -> str | None:
        """What a host runs; in a stream of several a host that the sample does not show may run anything."""
        return dict(self.components).get(host or "") if self.components else self.component

    @property
    def plain(self) -> bool:
        """Whether the file is simply text with a date in each header: nothing around it, oldest first."""
        return (
            bool(self.starts)
            and not self.envelopes
            and self.document is None
            and not self.newest_first
            and self.dated
            and self.layout != layouts.UNKNOWN
        )

    @property
    def one_to_one(self) -> bool:
        """Whether each line wraps one line, so that those between a prefilter's hits need not be peeled."""
        return self.document is None and self.dated and self.header_marks is not None

    @property
    def splittable(self) -> bool:
        """Whether a part can be read without what stands before it."""
        return self.document is None and not self.newest_first and self.dated and not self.partly_dated


def profile(file: InputFile, tz: ZoneRules | None = None) -> FileProfile:
    """Tell what one file is; a file without dates is dated by itself, its name and its age."""
    return profiles([file], tz)[0]


def profiles(files: Sequence[InputFile], tz: ZoneRules | None = None) -> tuple[FileProfile, ...]:
    """Tell what each file is; files without dates are dated by their neighbours too."""
    looks = [_look(file, tz or ZoneRules()) for file in files]
    times = [look.first for look in looks], [look.own for look in looks]
    found = _chained(files, [look.found for look in looks], rotation.chains(files, *times))
    known = [each for look in looks if (each := look.own)] + [each for look in looks if (each := look.tied)]
    return tuple(
        _dated(file, look.sample, each, [look.own] if look.own and each.partly_dated else known)
        for file, look, each in zip(files, looks, found, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """What one file shows by itself: the times of a log with dates (`own`) or without (`tied`), the first of them."""

    found: FileProfile
    sample: Sample
    own: dates.Range | None
    tied: dates.Range | None
    first: int | None


def _look(file: InputFile, tz: ZoneRules) -> _Look:
    sample = sample_of(file)
    found, own = _profile(file, sample, tz), dates.range_of(sample)
    return _Look(
        found=found,
        # Of a hundred thousand files not all samples fit into memory.
        sample=dates.enough_of(sample) if found.dated else sample,
        own=own,
        tied=None if own else dates.tied_range(sample),
        first=own[0] if own else dates.first_clock(sample),
    )


def _chained(
    files: Sequence[InputFile], found: list[FileProfile], chains: Sequence[Sequence[int]]
) -> list[FileProfile]:
    """Let the files of one rolled log tell of each other: layout, zone, release, and where a record goes on."""
    done = list(found)
    for chain in chains:
        members = [found[index] for index in chain]
        told = next((each for each in members if each.layout != layouts.UNKNOWN), members[0])
        for position, index in enumerate(chain):
            own = done[index] if done[index].layout != layouts.UNKNOWN else replace(told, near_ms=done[index].near_ms)
            done[index] = replace(
                own,
                zone=own.zone or next((each.zone for each in members if each.zone), None),
                kafka_version=_release(own, members),
                component=_component(members) or own.component,
                host=own.host or told.host,
                closed=any(each.closed for each in members if each.layout == own.layout),
                continued=position > 0,
                cut_by_size=rotation.are_cut_by_size([files[each] for each in chain]),
                continues_in=tuple(files[later] for later in chain[position + 1 :]),
            )
    return done


def _release(own: FileProfile, chain: Sequence[FileProfile]) -> str | None:
    """The release that one of them names, else the best bound."""
    said = [each.kafka_version for each in chain if each.kafka_version]
    exact = [release for release in said if not release.startswith(">")]
    return (
        own.kafka_version
        if own.kafka_version in exact
        else next(iter(exact), own.kafka_version or next(iter(said), None))
    )


def _component(chain: Sequence[FileProfile]) -> str | None:
    """What one of them shows beyond being a consumer; a Streams log may hold only its consumers' lines."""
    said = [each.component for each in chain if each.component]
    return next((component for component in said if component != "consumer"), next(iter(said), None))


def _profile(file: InputFile, sample: Sample, tz: ZoneRules) -> FileProfile:
    headers = [line for line in sample.lines if line.parsed is not None]
    seen = Counter(line.layout for line in headers)
    chain = Counter(line.line.envelopes for line in headers).most_common(1)
    envelopes = chain[0][0] if chain else ()
    host = host_of(file.path) if not envelopes or len({line.line.host for line in headers}) != 1 else None
    by_host = _zones(headers, sample)
    known = layouts.by_name()
    return FileProfile(
        layout=seen.most_common(1)[0][0] if seen else layouts.UNKNOWN,
        layouts=tuple(name for name, _ in seen.most_common()),
        envelopes=envelopes,
        component=component_of("\n".join(line.raw for line in sample.lines)),
        components=_components(sample),
        kafka_version=release_of(sample.text),
        host=host or (headers[0].line.host if headers else None) or host_of(file.path),
        zone=tz.zone_of(host or host_of(file.path), file.path) or _zone(headers, by_host),
        zones=tuple(sorted((name, tz.zone_of(name, file.path) or zone) for name, zone in by_host.items() if name)),
        newest_first=_newest_first(sample, headers),
        document=sample.document,
        header_marks=marks_of(sample) if envelopes or _in_json(seen) else None,
        starts=_starts(headers, [known[name] for name in seen]),
        dated=_is_dated(headers),
        partly_dated=_is_partly_dated(headers),
        closed=_is_closed(sample),
        suffixed=suffixes.are_appended([line.parsed.message for line in headers if line.parsed]),
    )


def _components(sample: Sample) -> tuple[tuple[str, str], ...]:
    """What each host of a stream of several runs."""
    lines: dict[str, list[str]] = {}
    for line in sample.lines:
        if line.line.host is not None:
            lines.setdefault(line.line.host, []).append(line.line.text or line.raw)
    if len(lines) < 2:
        return ()
    said = {host: component_of("\n".join(texts)) for host, texts in lines.items()}
    return tuple(sorted((host, component or "") for host, component in said.items()))


def _in_json(seen: Counter[str]) -> bool:
    """Whether the commonest layout writes JSON objects."""
    return bool(seen) and seen.most_common(1)[0][0].startswith("json-")


def _starts(headers: Sequence[Sampled], seen: Sequence[Layout]) -> tuple[bytes, ...]:
    """Of the ways in which headers may begin, those that do here: counting each costs a pass. None if some do not.

    Of layouts that begin with a level any level may come.
    """
    raw = [line.raw.encode() for line in headers]
    used = dict.fromkeys(
        start
        for layout in seen
        for start in layout.starts
        if layout.rank in _UNTIMED or any(line.startswith(start) for line in raw)
    )
    if sum(line.startswith(tuple(used)) for line in raw) < len(raw):
        return ()
    return tuple(start for start in used if not any(other != start and start.startswith(other) for other in used))


def _is_dated(headers: Sequence[Sampled]) -> bool:
    stamps = [line.parsed.stamp for line in headers if line.parsed and line.parsed.stamp]
    undated = sum(stamp.form == "time-only" for stamp in stamps)
    return undated * 2 <= len(stamps) or not stamps


def _is_closed(sample: Sample) -> bool:
    """Whether records end with their loggers; some go on in further lines, and the last one may be torn."""
    first = sample.lines[: sample.head_lines]
    whole = first if sample.head.endswith(b"\n") else first[:-1]
    ends = [ends_with_logger(line.line.text, line.parsed) for line in whole if line.parsed]
    return sum(ends) * 4 > len(ends) * 3


def _is_partly_dated(headers: Sequence[Sampled]) -> bool:
    """Whether some records show no date of their own and no time around them, as one service of a stream may."""
    return any(
        line.line.at is None and line.parsed and line.parsed.stamp and line.parsed.stamp.form == "time-only"
        for line in headers
    )


def _zones(headers: Sequence[Sampled], sample: Sample) -> dict[str | None, str]:
    """By host, the zone that envelope times, or epoch values in the text, give to naive local times."""
    votes: dict[str | None, Counter[int]] = {}
    for line in headers:
        stamp = line.parsed.stamp if line.parsed else None
        if stamp and line.line.at is not None and stamp.form == "full" and stamp.offset_minutes is None:
            offset = zones.offset_between(stamp.local_ms, line.line.at)
            votes.setdefault(line.line.host, Counter())[offset] += 1
    tied = dates.tied_offsets(sample)
    for host, counter in votes.items():
        offset, count = counter.most_common(1)[0]
        seasons = max(counter[offset + 60], counter[offset - 60])
        if (count + seasons) * 10 >= counter.total() * 9:
            tied[host] = offset
    return {host: zones.named(offset) for host, offset in tied.items()}


def _zone(headers: Sequence[Sampled], by_host: dict[str | None, str]) -> str | None:
    """The one zone of a file: written in its lines, or tied for all its hosts alike."""
    offsets = Counter(line.parsed.stamp.offset_minutes for line in headers if line.parsed and line.parsed.stamp)
    written = [offset for offset, _ in offsets.most_common() if offset is not None]
    if written and None not in offsets:
        return zones.named(written[0])
    main = Counter(line.layout for line in headers).most_common(1)
    hosts = {line.line.host for line in headers if line.layout == main[0][0] or _is_local(line)}
    if len(set(by_host.values())) == 1 and hosts <= set(by_host):
        return next(iter(by_host.values()))
    return None


def _is_local(line: Sampled) -> bool:
    """Whether a host of a stream prints a whole date and no zone."""
    stamp = line.parsed.stamp if line.parsed else None
    return line.line.host is not None and stamp is not None and (stamp.form, stamp.offset_minutes) == ("full", None)


def _newest_first(sample: Sample, headers: Sequence[Sampled]) -> bool:
    """Whether times go down through the file."""
    times = [time for line in headers[: sample.head_lines] if (time := _time(line)) is not None]
    steps = Counter((after > before) - (after < before) for before, after in pairwise(times))
    late = [time for line in headers if line.late and (time := _time(line)) is not None]
    if times and late and abs(late[-1] - times[0]) > 1000:
        return late[-1] < times[0] and steps[-1] > steps[1]
    return steps[-1] > 2 * steps[1] and steps[-1] > 1


def _time(line: Sampled) -> EpochMs | None:
    if line.line.at is not None:
        return line.line.at
    stamp = line.parsed.stamp if line.parsed else None
    return EpochMs(stamp.utc_ms) if stamp and stamp.form == "full" else None


def _dated(
    file: InputFile, sample: Sample, found: FileProfile, neighbours: Sequence[tuple[EpochMs, EpochMs]]
) -> FileProfile:
    """Tell how to complete the dates of a file; one without any gets the midnight before its first record."""
    near = dates.near_to(file, sample, neighbours)
    found = replace(found, near_ms=near, date_order=dates.order_of(sample, near))
    if found.dated:
        return found
    midnight, offset = dates.midnight_of(file, sample, neighbours)
    zone = found.zone or (None if offset is None else zones.named(offset))
    return replace(found, midnight_ms=midnight, zone=zone)
