"""Profiles a file by its start and a sample of its middle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import defects
from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.files.hosts import host_of
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.layouts.base import UNTIMED, Layout
from rebalance_forensics.sources.layouts.message_trailer import are_appended
from rebalance_forensics.sources.lines.text import text_of
from rebalance_forensics.sources.profiles import dates
from rebalance_forensics.sources.profiles.components import component_of, release_of, shows_members
from rebalance_forensics.sources.profiles.dates import Dates
from rebalance_forensics.sources.profiles.record_markers import marks_of
from rebalance_forensics.sources.profiles.sample import Sample, Sampled, has_line_end, sample_of
from rebalance_forensics.sources.profiles.torn_lines import ends_with_logger
from rebalance_forensics.sources.times.timestamps import DateOrder
from rebalance_forensics.utc_offsets import name_of_offset, offset_between

# The share of a shipper's records that it could not parse.
_WITHOUT_HOST = 0.1


class FileProfile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How to read a file, and what it shows about its origin.

    `layouts` are all layouts seen, `starts` the bytes that their headers start with. `header_marks` are bytes that
    identify a header within an envelope: empty if every line is a record, None if there are none. `zone` is that of
    local times in the file, None if unknown; `zones` and `components` are those of each host in the sample.
    A file that `shows_members` includes lines of group members, whatever its component: logs were merged.
    In a `late` file, times of envelopes are too far from those in the lines to reveal a zone.
    In a file of JSON objects with several hosts, `hosts_in_records`, each record belongs to the host that it names.
    A file that a defect of ours prevents from being read is not `readable`; see `defects`.
    `midnight_ms` is the local midnight before the first record, for layouts without a date, by the modification time if
    nothing shows the day (`day_by_age`); `near_ms` is close to all records, for dates without a year; `date_order` is
    that of 11/12/2026.
    `newest_first` exports have continuation lines before their record, unless `whole_entries` were reversed.
    `document` names a format other than one record per line; in `suffixed` logs each message ends with a context, in
    `closed` ones nearly each record with its logger in parentheses. A rolled file may start within a record
    (`continued`), and its last record may continue in later files, whose starts `followed_by` identifies by hashes; if
    a log is `cut_by_size`, it continues within a line. Lines that reach `cut_at` characters were truncated.
    """

    layout: str = layouts.UNKNOWN
    layouts: tuple[str, ...] = ()
    envelopes: tuple[str, ...] = ()
    component: str | None = None
    shows_members: bool = False
    components: tuple[tuple[str, str], ...] = ()
    kafka_version: str | None = None
    host: str | None = None
    zone: str | None = None
    zones: tuple[tuple[str, str], ...] = ()
    midnight_ms: int | None = None
    near_ms: int | None = None
    date_order: DateOrder | None = None
    newest_first: bool = False
    whole_entries: bool = False
    document: str | None = None
    starts: tuple[bytes, ...] = ()
    header_marks: tuple[bytes, ...] | None = None
    dated: bool = True
    day_by_age: bool = False
    partly_dated: bool = False
    suffixed: bool = False
    late: bool = False
    hosts_in_records: bool = False
    readable: bool = True
    defects: tuple[str, ...] = ()
    closed: bool = False
    continued: bool = False
    cut_by_size: bool = False
    cut_at: int | None = None
    continues_in: tuple[InputFile, ...] = ()
    followed_by: tuple[str, ...] = ()

    def component_of(self, host: str | None) -> str | None:
        """The component of a host; in a stream of several hosts, unknown for a host that is not in the sample."""
        if not self.components or (host is None and len(self.components) == 1):
            return self.component
        return dict(self.components).get(host or "")

    @property
    def plain(self) -> bool:
        """True for plain text, without envelopes, with a date in each header, oldest first."""
        return (
            bool(self.starts)
            and not self.envelopes
            and self.document is None
            and not self.newest_first
            and self.dated
            and self.layout != layouts.UNKNOWN
        )

    @property
    def upwards(self) -> bool:
        """True if the continuation lines of a record precede it, the last one first."""
        return self.newest_first and not self.whole_entries

    @property
    def unlike_a_log(self) -> bool:
        """True if neither the start of the file nor its samples show a record or an envelope."""
        return self.layout == layouts.UNKNOWN and not self.envelopes and self.document is None

    @property
    def one_to_one(self) -> bool:
        """True if each line wraps one line, so that lines between the prefilter's hits can be skipped."""
        return self.document is None and self.dated and self.header_marks is not None

    @property
    def splittable(self) -> bool:
        """True if a part can be read without the text before it."""
        by_itself = self.document is None and not self.newest_first and self.dated and not self.partly_dated
        return by_itself and _OF_A_DUMP not in self.starts


_OF_A_DUMP = b'"'
"""The start of a thread in a dump, whose time is printed only once, thousands of lines before the last thread."""


class Look(Struct, frozen=True, kw_only=True):
    """What one file shows without other files and without the user's zones.

    `line` identifies its first line, `head` holds its first lines; `lead` describes the bytes before the first header,
    which belong to a record of the previous file: None if it starts with a header. All are empty for an empty file.
    `ended` is True if its last line has a line end, None for a compressed file. Unlike samples, the looks at 100,000
    files fit into memory.
    """

    found: FileProfile
    dates: Dates
    line: str = ""
    lead: str | None = ""
    head: str = ""
    ended: bool | None = False


def look(file: InputFile) -> Look:
    """Inspect one file; a failure must not affect other files."""
    try:
        return _look(file)
    except Exception as error:  # noqa: BLE001
        return unreadable("its layout could not be determined", error)


def _look(file: InputFile) -> Look:
    sample = sample_of(file)
    return Look(
        found=_profile(file, sample),
        dates=Dates.of(sample),
        line=_hash(b"".join(sample.head.partition(b"\n")[:2])),
        lead=_lead(sample),
        head=_hash(sample.head),
        ended=has_line_end(file),
    )


def unreadable(what: str, error: Exception, found: FileProfile | None = None) -> Look:
    """The look at a file that a defect of ours prevents from being read."""
    return Look(found=replace(with_defect(found or FileProfile(), what, error), readable=False), dates=Dates())


def with_defect(found: FileProfile, what: str, error: Exception) -> FileProfile:
    """A copy of the profile with a defect of ours noted."""
    return replace(found, defects=(*found.defects, defects.sentence(what, error)))


def _lead(sample: Sample) -> str | None:
    """The length of a file's start that belongs to the previous record; all of it if there is no header."""
    first = next((line.raw for line in sample.lines if line.parsed and not line.late), None)
    at = 0
    for line in sample.head.split(b"\n") if first is not None else ():
        if text_of(line[: 64 << 10]) == first:
            break
        at += len(line) + 1
    lead = sample.head[:at] if first is not None else sample.head
    return _hash(lead) if lead or not sample.head else None


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()[:16] if data else ""


def _profile(file: InputFile, sample: Sample) -> FileProfile:
    hosts_in_records = _name_hosts(sample)
    headers = [line for line in sample.lines if line.parsed is not None]
    seen = Counter(line.layout for line in headers)
    begun = headers or [line for line in sample.lines if line.begins]
    chain = Counter(line.line.envelopes for line in begun).most_common(1)
    envelopes = chain[0][0] if chain else ()
    votes = _votes(headers)
    by_host = _zones(votes, sample)
    known = layouts.by_name()
    layout = seen.most_common(1)[0][0] if seen else layouts.UNKNOWN
    return FileProfile(
        layout=layout,
        layouts=tuple(name for name, _ in seen.most_common()),
        envelopes=envelopes,
        component=component_of("\n".join(line.raw for line in sample.lines)),
        shows_members=shows_members(sample.text),
        components=_components(sample),
        kafka_version=release_of(sample.text),
        host=_host(file, headers, enveloped=bool(envelopes)),
        hosts_in_records=hosts_in_records,
        zone=_zone(headers, by_host),
        zones=tuple(sorted((name, zone) for name, zone in by_host.items() if name)),
        newest_first=_newest_first(sample, headers),
        whole_entries=bool(envelopes) and _in_entries(sample),
        document=sample.document,
        header_marks=marks_of(sample) if envelopes or layouts.is_json(layout) else None,
        # The share of a host's lines that arrived too long after (or before) they were written to reveal the zone.
        late=any(counter[None] * 2 > counter.total() for counter in votes.values()),
        starts=_starts(headers, [known[name] for name in seen]),
        dated=_is_dated(headers),
        partly_dated=_is_partly_dated(headers),
        closed=_is_closed(sample),
        suffixed=are_appended([line.parsed.message for line in headers if line.parsed]),
        cut_at=sample.cut_at,
    )


def _name_hosts(sample: Sample) -> bool:
    """True if the records themselves name several hosts."""
    # If all name the same host, it applies to the whole file, including lines of a process that names none. A shipper
    # adds the host to every record; if only some have such a field, it denotes another process.
    named = [line.parsed.host for line in sample.lines if line.parsed is not None and line.line.host is None]
    if len({*named} - {None}) < 2 or named.count(None) > len(named) * _WITHOUT_HOST:
        return False
    sample.lines = [
        replace(line, line=replace(line.line, host=line.line.host or line.parsed.host)) if line.parsed else line
        for line in sample.lines
    ]
    return True


def _host(file: InputFile, headers: Sequence[Sampled], *, enveloped: bool) -> str | None:
    """The host of a file; if its lines name several hosts, only the path can name one for all of it."""
    named = {line.line.host for line in headers}
    if named == {None}:
        named = {line.parsed.host for line in headers if line.parsed is not None}
    only = next(iter(named)) if len(named) == 1 else None
    by_path = host_of(file.path)
    return only or by_path if enveloped else by_path or only


def _components(sample: Sample) -> tuple[tuple[str, str], ...]:
    """Host and component for each host in the sample; exports sorted by time may contain others."""
    lines: dict[str, list[str]] = {}
    for line in sample.lines:
        if line.line.host is not None:
            lines.setdefault(line.line.host, []).append(line.line.text or line.raw)
    components = {host: component_of("\n".join(texts)) for host, texts in lines.items()}
    return tuple(sorted((host, component or "") for host, component in components.items()))


def _starts(headers: Sequence[Sampled], seen: Sequence[Layout]) -> tuple[bytes, ...]:
    """The possible starts of headers that occur in the file, since counting each takes a pass; empty if unreliable."""
    # Layouts that start with a level may start with any level.
    raw = [line.raw.encode() for line in headers]
    used = dict.fromkeys(
        start
        for layout in seen
        for start in layout.starts
        if layout.rank in UNTIMED or any(line.startswith(start) for line in raw)
    )
    if sum(line.startswith(tuple(used)) for line in raw) < len(raw):
        return ()
    return tuple(start for start in used if not any(other != start and start.startswith(other) for other in used))


def _is_dated(headers: Sequence[Sampled]) -> bool:
    stamps = [line.parsed.stamp for line in headers if line.parsed and line.parsed.stamp]
    undated = sum(stamp.form == "time-only" for stamp in stamps)
    return undated * 2 <= len(stamps) or not stamps


def _is_closed(sample: Sample) -> bool:
    """True if records end with their loggers; some have continuation lines, and the last one may be torn."""
    first = sample.lines[: sample.head_lines]
    whole = first if sample.head.endswith(b"\n") else first[:-1]
    ends = [ends_with_logger(line.line.text, line.parsed) for line in whole if line.parsed]
    return sum(ends) * 4 > len(ends) * 3


def _is_partly_dated(headers: Sequence[Sampled]) -> bool:
    """True if some records have neither a date nor an envelope with a time, as one service of a stream may."""
    return any(
        line.line.at is None and line.parsed and line.parsed.stamp and line.parsed.stamp.form == "time-only"
        for line in headers
    )


def _zones(votes: _Votes, sample: Sample) -> dict[str | None, str]:
    """Host -> the zone of its local times, by envelope times or epoch values in the text."""
    tied = dates.tied_offsets(sample)
    for host, counter in votes.items():
        offset, count = counter.most_common(1)[0]
        if offset is None:
            continue
        seasons = max(counter[offset + 60], counter[offset - 60])
        if (count + seasons) * 10 >= counter.total() * 9:
            tied[host] = offset
    return {host: name_of_offset(offset) for host, offset in tied.items()}


_Votes = dict[str | None, Counter[int | None]]


def _votes(headers: Sequence[Sampled]) -> _Votes:
    """Host -> how often envelope times imply each offset in minutes; None for what no zone explains."""
    votes: _Votes = {}
    for line in headers:
        stamp = line.parsed.stamp if line.parsed else None
        if stamp and line.line.at is not None and stamp.form == "full" and stamp.offset_minutes is None:
            offset = offset_between(stamp.local_ms, line.line.at)
            votes.setdefault(line.line.host, Counter())[offset] += 1
    return votes


def _zone(headers: Sequence[Sampled], by_host: dict[str | None, str]) -> str | None:
    """The single zone of a file: printed in its lines, or the same for all its hosts."""
    offsets = Counter(line.parsed.stamp.offset_minutes for line in headers if line.parsed and line.parsed.stamp)
    written = [offset for offset, _ in offsets.most_common() if offset is not None]
    if written and None not in offsets:
        return name_of_offset(written[0])
    main = Counter(line.layout for line in headers).most_common(1)
    hosts = {line.line.host for line in headers if line.layout == main[0][0] or _is_local(line)}
    if len(set(by_host.values())) == 1 and hosts <= set(by_host):
        return next(iter(by_host.values()))
    return None


def _is_local(line: Sampled) -> bool:
    """True if a host of a stream prints full dates without a zone."""
    stamp = line.parsed.stamp if line.parsed else None
    return line.line.host is not None and stamp is not None and (stamp.form, stamp.offset_minutes) == ("full", None)


def _newest_first(sample: Sample, headers: Sequence[Sampled]) -> bool:
    """True if times descend through the file."""
    times = [time for line in headers[: sample.head_lines] if (time := _time(line)) is not None]
    steps = Counter((after > before) - (after < before) for before, after in pairwise(times))
    late = [time for line in headers if line.late and (time := _time(line)) is not None]
    if times and late and abs(late[-1] - times[0]) > 1000:
        return late[-1] < times[0] and steps[-1] > steps[1]
    return steps[-1] > 2 * steps[1] and steps[-1] > 1


def _in_entries(sample: Sample) -> bool:
    """True if envelopes wrap whole records, so that continuation lines have none of their own."""
    going_on = [line for line in sample.lines if line.parsed is None]
    return bool(going_on) and not any(line.line.envelopes for line in going_on)


def _time(line: Sampled) -> EpochMs | None:
    if line.line.at is not None:
        return line.line.at
    stamp = line.parsed.stamp if line.parsed else None
    return EpochMs(stamp.utc_ms) if stamp and stamp.form == "full" else None
