"""Reads the typed events of one split of a file: the only place where bytes become events."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.catalog.bare_messages import is_kafka_message
from rebalance_forensics.catalog.compiled_catalog import Release
from rebalance_forensics.catalog.event_assembly import event_of, mention_of, named_by_prefix
from rebalance_forensics.catalog.exceptions import exception_in
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.cut_names import Named, restore_names
from rebalance_forensics.pipeline.short_logs import (
    MOST_BYTES,
    in_their_only_group,
    on_the_brokers_clock,
    rewritten,
    without_a_list_of_errors,
)
from rebalance_forensics.pipeline.stats import SAMPLES, HostStats, SplitStats
from rebalance_forensics.records import LEFT_OUT, LogRecord
from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.documents import PASTE
from rebalance_forensics.sources.layouts.text_layouts import TextLayout
from rebalance_forensics.sources.lines.line_counts import Times
from rebalance_forensics.sources.lines.text import is_jvm_output
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.profiles.torn_lines import marked_if_torn
from rebalance_forensics.sources.records.record_reader import SplitCounts, read_records
from rebalance_forensics.sources.records.splits import Split
from rebalance_forensics.timeline.coverage import LogSpan, WayIn, is_excerpt

# Events about the process: of a client before it is a member of any group, or of the application.
_PROCESS_EVENTS = (
    ev.ClusterReported,
    ev.ExceptionLogged,
    ev.JvmStarted,
    ev.LinesDropped,
    ev.LivenessBroken,
    ev.SettingsReported,
    ev.StartTimeReported,
    ev.VersionReported,
)


MAX_CACHED = 8192
# Limit on the characters of all cached messages: stack traces may have 10,000 each.
_MAX_CACHED_CHARACTERS = 4 << 20
_NOT_CACHED = object()
# Connect's messages about a failed connector, task or worker; the exception that follows shows the reason.
_FAILED_WORK = frozenset(
    {"connect/work-failed", "connect/work-started", "connect/work-stopped", "connect/worker-failed"}
)
# Envelopes that people put around lines; all others, except colors, are put there by log collectors.
_MARKS = frozenset({"grep", "indented", "quoted"})
_GC_LOGS = (("jvm-unified",), ("jvm-gc",))
# Kafka logs far more at these levels than a catalog can cover; lines without a pattern are no gap.
_QUIET_LEVELS = frozenset({"DEBUG", "TRACE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How splits are read in one run."""

    cluster: str
    cluster_per_directory: bool = False
    shards: tuple[int, ...] = (0,)
    in_turn: int = 1
    """Shards that each worker processes in sequence, so that it has the groups of one of them in memory at a time."""
    patterns: tuple[str, ...] = ()
    """Directories with the user's patterns."""

    @property
    def first_shards(self) -> tuple[int, ...]:
        """The first shard of each worker, for rows without a group."""
        return self.shards[:: self.in_turn]

    def cluster_of(self, path: str) -> str:
        """The cluster to which the group ids in a file belong."""
        first, inside, _ = path.partition("/")
        return first if self.cluster_per_directory and inside else self.cluster


def read_split(split: Split, catalog: Catalog, reading: Reading) -> Iterator[Event | SplitStats]:
    """Yield the events that start in the split, then its counts."""
    counts, tally = SplitCounts(), _Tally()
    try:
        events: Iterable[Event] = chain.from_iterable(_events(split, catalog, reading, counts, tally))
        if split.profile.document == PASTE:
            named = partial(restore_names, named=tally.named)
            events = rewritten(events, without_a_list_of_errors, named, in_their_only_group)
        elif not split.is_part and split.file.size <= MOST_BYTES:
            events = rewritten(events, on_the_brokers_clock, in_their_only_group)
        yield from events
    except OSError as error:
        counts.stop(f"{split.file.path}: reading stopped: {error.strerror or error}.", may_pass=True)
    except Exception as error:  # noqa: BLE001 - whatever it was, the events before it and the other splits are kept
        counts.break_off(error)
    yield tally.stats(split, counts)


def _events(
    split: Split, catalog: Catalog, reading: Reading, counts: SplitCounts, tally: _Tally
) -> Iterator[Iterable[Event]]:
    pasted = split.profile.document == PASTE
    known = _MatchCache(catalog, pasted=pasted)
    event_reader = _EventReader(split.profile, catalog, reading.cluster_of(split.file.path), counts, tally)
    batches = read_records(split, _hits_in_a_paste(catalog) if pasted else _hits_in(split.profile, catalog), counts)
    if not split.is_part:
        batches = marked_if_torn(batches)
    for batch in known.truncated_last(batches) if pasted else batches:
        yield event_reader.events(batch, known.matches(batch))
    if not split.is_part:
        yield event_reader.only_mentions()


class _EventReader:
    def __init__(
        self, profile: FileProfile, catalog: Catalog, cluster: str, counts: SplitCounts, tally: _Tally
    ) -> None:
        self._profile = profile
        self._catalog = catalog
        self._cluster = cluster
        self._counts = counts
        self._tally = tally
        self._pasted = profile.document == PASTE
        self._component = profile.component_of(None)
        self._mentions: dict[str, Event] = {}
        """The first line that names each group, kept until the log shows what a member of any group did."""
        self._has_group_event = False

    def events(self, records: Sequence[LogRecord], matches: Sequence[Match | Exception | None]) -> list[Event]:
        """The events of the records; one that fails is counted as a defect, and the others are kept."""
        found: list[Event] = []
        for record, match in zip(records, matches, strict=True):
            try:
                event = self._event(record, match)
            except Exception as error:  # noqa: BLE001 - whatever it was, it is reported with the record's place
                self._counts.spoil(record.origin.byte_offset, error)
                continue
            if event is not None:
                found.append(event)
        return found

    def _event(self, record: LogRecord, match: Match | Exception | None) -> Event | None:
        if isinstance(match, Exception):
            raise match
        host = record.host or self._profile.host
        component = self._component if record.host is None else self._profile.component_of(record.host)
        # A line may report only that something failed, and the stack trace after it the reason.
        if match is None or (match.event == "ExceptionLogged" and match.fields.get("exception") is None):
            # In a paste or in merged logs, an application's lines may appear between a broker's.
            merged = self._pasted or (component == "broker" and self._profile.shows_members)
            thrown = exception_in(record, None if merged else component)
            match, component = thrown or match, None if merged and thrown is not None else component
        if (
            match is not None
            and match.pattern in _FAILED_WORK
            and (thrown := self._catalog.match_thrown(record.message)) is not None
        ):
            # An exception of a failed sink task concerns its consumer group, not only the task; one of a failed
            # worker, the worker's group.
            task = str(match.fields.get("what") or "") or match.speaker.task
            speaker = replace(match.speaker, role="connect", task=task)
            match = replace(thrown, group=thrown.group or match.group, speaker=speaker)
        programs = self._catalog.compiled.programs
        if match is not None and match.pattern in programs and not _is_by(programs[match.pattern], record):
            match = None
        if match is None:
            self._unknown(record, host, component)
            return None
        event = event_of(match, record, cluster=self._cluster, host=host, component=component)
        self._has_group_event = self._has_group_event or not (event is None or isinstance(event, _PROCESS_EVENTS))
        if not self._has_group_event:
            self._note(mention_of(match, record, cluster=self._cluster, host=host, component=component))
        if event is not None and event.group is not None and not event.group.isascii():
            event.group.encode()  # text that no Arrow column can encode fails here, on every engine
        self._tally.known(record, event)
        if record.bare:
            self._counts.recognize()
        # Brokers and controllers often lose their connections to each other; only those of clients concern a group.
        if type(event) is ev.NodeDisconnected and event.speaker.client_id is None and event.speaker.role == "broker":
            return None
        return event

    def only_mentions(self) -> Iterable[Event]:
        """The mentions of groups in a log that shows nothing else about any group."""
        return () if self._has_group_event else self._mentions.values()

    def _note(self, mention: Event | None) -> None:
        if mention is not None and mention.group is not None:
            self._mentions.setdefault(mention.group, mention)

    def _unknown(self, record: LogRecord, host: str | None, component: str | None) -> None:
        # Count a line without a pattern, and note the group that its prefix names.
        mention = None
        if self._pasted or not self._has_group_event or record.text.endswith(LEFT_OUT):
            mention = named_by_prefix(record, cluster=self._cluster, host=host, component=component)
        self._note(mention)
        of_a_client = component != "broker"
        self._tally.unknown(
            record, self._catalog, pasted=self._pasted, names_group=mention is not None, of_a_client=of_a_client
        )


def _hits_in(profile: FileProfile, catalog: Catalog) -> Callable[[bytes], list[int]]:
    # The catalog's words, or only the layout's `relevant` patterns if the log has one layout that defines them. After
    # hundreds of collections or threads of a dump, which fill the file's sample, an application's log may follow.
    layout = layouts.by_name().get(profile.layout)
    hits = catalog.prefilter().hits
    if profile.layouts not in ((), (profile.layout,)) or not isinstance(layout, TextLayout) or not layout.foreign:
        return hits
    relevant, foreign = layout.relevant, layout.foreign

    def of_layout(block: bytes) -> list[int]:
        if foreign.search(block) or foreign.match(b"\n" + block[:64]):
            return hits(block)
        return sorted(match.start() for each in relevant for match in each.finditer(block))

    return of_layout


def _hits_in_a_paste(catalog: Catalog) -> Callable[[bytes], list[int]]:
    # A truncated line may lack the words by which the prefilter finds it, an error its stack trace.
    # The rest of a broken line may name a group and contain nothing else that a pattern matches.
    hits = catalog.prefilter().hits
    relevant = re.compile(re.escape(LEFT_OUT.encode()) + rb"|\b(?:ERROR|FATAL|SEVERE)\b|\bgroupId=")
    return lambda block: sorted({*hits(block), *(match.start() for match in relevant.finditer(block))})


def _is_by(programs: str, record: LogRecord) -> bool:
    """False for a message of a kernel, a supervisor or a JVM if another program logs it.

    None of them logs with a logger's name, or with a thread's name: a kubelet prints the thread's number.
    """
    if re.match(programs, "java"):
        # A JVM prints to the output of its process, which syslog names after the unit or the container.
        return (record.logger is None and record.level is None) or is_jvm_output(record.text)
    program = re.sub(r"^(?:stdout|stderr)|\.service$", "", record.program or "")
    if re.match(programs, program) is None:
        return False
    return record.logger is None and (record.thread is None or record.thread.replace(".", "").isdigit())


def speaks_of_groups(record: LogRecord, catalog: Catalog) -> bool:
    """True if the record's class logs about groups, at a level that the catalog should cover."""
    # The class from the layout, else from the message's prefix (`[GroupCoordinator 1]: …`).
    speaker = record.logger or record.message.lstrip("[").partition(" ")[0].rstrip("]:")
    return record.level not in _QUIET_LEVELS and catalog.is_group_class(speaker)


def _spans(split: Split, counts: SplitCounts, hosts: Sequence[HostStats], tally: _Tally) -> Iterator[LogSpan]:
    # The span of each host's lines; for lines without a host, that of the whole log.
    own, times = split.profile.host, counts.times
    named = ((host.host, host.opening, host.closing) for host in hosts if host.host != own)
    for host, opening, closing in ((own, times.opening, times.closing), *named):
        span = LogSpan(
            path=split.file.path,
            host=host,
            opening=opening,
            closing=closing,
            start=split.start,
            lines=_way_in_of(split),
            records=counts.records,
            about_groups=tally.roles.total(),
            brokers=tally.roles["broker"],
            cut_short=tally.cut_short,
            of_a_jvm=split.profile.layouts in _GC_LOGS,
        )
        if (opening is not None and closing is not None) or is_excerpt([span]):
            yield span


def _way_in_of(split: Split) -> WayIn:
    envelopes = {*split.profile.envelopes} - {"ansi"}
    if split.profile.document == PASTE:
        return "pasted"
    if not envelopes:
        return "plain"
    return "marked" if envelopes <= _MARKS else "collected"


class _MatchCache:
    """Caches matches of the catalog: an error in a loop logs the same message a hundred thousand times."""

    def __init__(self, catalog: Catalog, *, pasted: bool) -> None:
        self._catalog = catalog
        self._pasted = pasted
        self._answers: dict[tuple[str, str | None, bool], Match | None] = {}
        self._before: dict[tuple[str, str | None, bool], Match | None] = {}
        """The previous, full cache: what is looked up again is copied from it, the rest is dropped with it."""
        self._characters = 0
        self._since: Release | None = None

    def truncated_last(self, batches: Iterable[list[LogRecord]]) -> Iterator[list[LogRecord]]:
        """The records of a paste; truncated ones without a match come last, when the others have shown the release."""
        # All lines of coordinators in a paste are of one release, unless brokers were upgraded.
        truncated: list[LogRecord] = []
        since: list[Release] = []
        for batch in batches:
            records: list[LogRecord] = []
            for record, match in zip(batch, self.matches(batch), strict=True):
                if match is None and LEFT_OUT in record.message:
                    truncated.append(record)
                    continue
                if isinstance(match, Match) and match.since is not None and match.pattern.startswith("broker/"):
                    since.append(match.since)
                records.append(record)
            yield records
        self._since = max(since, default=None)
        self._answers, self._before = {}, {}
        yield truncated

    def matches(self, records: Sequence[LogRecord]) -> list[Match | Exception | None]:
        """The match of each record, None if no pattern matches, or the exception that matching raised."""
        # Looked up in the order of their text: messages that start alike use the same patterns, which stay in cache.
        if len(self._answers) >= MAX_CACHED or self._characters > _MAX_CACHED_CHARACTERS:
            self._answers, self._before, self._characters = {}, self._answers, 0
        answers, before = self._answers, self._before
        found: list[Match | Exception | None] = [None] * len(records)
        for at in sorted(range(len(records)), key=[record.message for record in records].__getitem__):
            record = records[at]
            key = record.message, record.logger, record.program is None
            answer: Any = answers.get(key, _NOT_CACHED)
            if answer is _NOT_CACHED:
                self._characters += len(record.message)
                try:
                    answer = answers[key] = before[key] if key in before else self._looked_up(record)
                except Exception as error:  # noqa: BLE001 - the caller reports it with the record's place
                    answer = error
            found[at] = answer
        return found

    def _looked_up(self, record: LogRecord) -> Match | None:
        # In a paste, or if a line is truncated, a message may start and end anywhere.
        if LEFT_OUT in record.message:
            # Names in the prefix may be truncated while the message is complete.
            _, closed, after_prefix = record.message.partition("] ")
            if closed and LEFT_OUT not in after_prefix:
                whole = self._catalog.match(record.message, logger=record.logger, level=record.level)
                if whole is not None and whole.spells_prefix:
                    return whole
            return self._catalog.match_inside(
                record.message,
                logger=record.logger,
                level=record.level,
                headed=not record.bare,
                begun=self._pasted,
                since=self._since,
            )
        whole = self._catalog.match(record.message, logger=record.logger, level=record.level)
        # After the program's name in syslog comes a message, however short.
        is_doubtful = record.bare and record.program is None
        if self._pasted and (whole is None or (is_doubtful and not is_kafka_message(whole))):
            # A line may have been copied only in part, without an ellipsis.
            found = self._catalog.match_inside(record.message)
            return found or self._catalog.match_inside(record.message + LEFT_OUT, since=self._since)
        # A bridge between two loggers prints a client's line within its own.
        if whole is None and (inner := layouts.inside(record.message)) is not None:
            found = self._catalog.match(inner.message, logger=inner.logger, level=inner.level)
            found = found or self._catalog.match(inner.message.rstrip("\"'"), logger=inner.logger, level=inner.level)
            is_record = inner.stamp is not None or inner.logger is not None or record.message.startswith(inner.message)
            return found if is_record or (found and is_kafka_message(found)) else None
        return whole


class _Tally:
    def __init__(self) -> None:
        self.matched: Counter[str | None] = Counter()
        self.unmatched: Counter[str | None] = Counter()
        self.samples: list[str] = []
        self.version: dict[str | None, str] = {}
        self.seen: defaultdict[str, Times] = defaultdict(Times)
        self.roles: Counter[str] = Counter()
        self.cut_short = 0
        """Number of records about groups that were cut too early to be read."""
        self.named = Named()
        """The names in lines of a paste that no pattern matches."""

    def known(self, record: LogRecord, event: Event | None) -> None:
        self.matched[record.host] += 1
        if record.host is not None:
            self._met(record)
        # A fetch position shows nothing about the group: a log of only such lines is no excerpt about groups.
        if event is not None and type(event) is not ev.FetchPositionSet:
            self.roles[event.speaker.role] += 1
        if type(event) is ev.VersionReported and event.product == "kafka":
            self.version.setdefault(record.host, event.version)

    def unknown(
        self, record: LogRecord, catalog: Catalog, *, pasted: bool, names_group: bool, of_a_client: bool
    ) -> None:
        """Count a record without a pattern if it is about a group: by its class, or in a paste by its prefix."""
        if pasted:
            self.named.read(record.message)
        not_about_groups = record.bare or not speaks_of_groups(record, catalog)
        # Most clients print no class by which lines about groups could be recognized.
        if not pasted and record.text.endswith(LEFT_OUT) and (names_group or not not_about_groups or of_a_client):
            self.cut_short += 1
        if not_about_groups and not (pasted and names_group):
            return
        self.unmatched[record.host] += 1
        self._met(record)
        if len(self.samples) < SAMPLES:
            self.samples.append(record.text)

    def _met(self, record: LogRecord) -> None:
        if record.host is not None and record.at is not None:
            self.seen[record.host].saw(record.at, record.origin.byte_offset)

    def stats(self, split: Split, counts: SplitCounts) -> SplitStats:
        """The counts of the split."""
        hosts = tuple(self._host(host) for host in sorted({*self.matched, *self.unmatched} - {None}, key=str))
        return SplitStats(
            path=split.file.path,
            index=split.index,
            start=split.start,
            bytes=counts.bytes,
            lines=counts.lines,
            records=counts.records,
            unparsed=counts.unparsed,
            matched=self.matched.total(),
            unmatched_kafka=self.unmatched.total(),
            unmatched=tuple(self.samples),
            first=counts.times.first,
            last=counts.times.last,
            opening=counts.times.opening,
            closing=counts.times.closing,
            kafka_version=next(iter(self.version.values()), None),
            hosts=hosts,
            heard=tuple(_spans(split, counts, hosts, self)),
            errors=tuple(counts.errors),
            defects=counts.defects(),
            try_again=counts.try_again,
        )

    def _host(self, host: str | None) -> HostStats:
        assert host is not None
        times = self.seen[host]
        return HostStats(
            host=host,
            kafka_version=self.version.get(host),
            matched=self.matched[host],
            unmatched_kafka=self.unmatched[host],
            first=times.first,
            last=times.last,
            opening=times.opening,
            closing=times.closing,
        )
