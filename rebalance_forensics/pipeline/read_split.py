"""One split of one file in, its typed events out: the only place where bytes become events."""

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

# What a client says of itself before it is a member of anything, and what an application says.
_OF_THE_PROCESS = (
    ev.ClusterReported,
    ev.ExceptionLogged,
    ev.JvmStarted,
    ev.LinesDropped,
    ev.LivenessBroken,
    ev.SettingsReported,
    ev.StartTimeReported,
    ev.VersionReported,
)


REMEMBERED = 8192
# Characters of all of them: the messages of a log may be traces of 10,000 each.
_MOST_CHARACTERS = 4 << 20
_NOT_ASKED = object()
# What Connect logs of a connector, a task or the whole worker that failed; the exception behind it says why.
_FAILED_WORK = frozenset(
    {"connect/work-failed", "connect/work-started", "connect/work-stopped", "connect/worker-failed"}
)
# Envelopes that people put around lines; all others but colours are those of collectors.
_MARKS = frozenset({"grep", "indented", "quoted"})
_GC_LOGS = (("jvm-unified",), ("jvm-gc",))
# Kafka says far more at these levels than any catalog can know; not knowing it is no gap.
_QUIET_LEVELS = frozenset({"DEBUG", "TRACE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How splits are read in one run."""

    cluster: str
    cluster_per_directory: bool = False
    shards: tuple[int, ...] = (0,)
    in_turn: int = 1
    """So many shards, one behind the other, are one worker's: it holds the groups of one of them at a time."""
    patterns: tuple[str, ...] = ()
    """Directories of the user's own patterns."""

    @property
    def first_shards(self) -> tuple[int, ...]:
        """The first shard of each worker: what no group is named in goes there."""
        return self.shards[:: self.in_turn]

    def cluster_of(self, path: str) -> str:
        """The cluster that a file's group ids belong to."""
        first, inside, _ = path.partition("/")
        return first if self.cluster_per_directory and inside else self.cluster


def read_split(split: Split, catalog: Catalog, reading: Reading) -> Iterator[Event | SplitStats]:
    """The events that start in the split, then what was counted."""
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
    except Exception as error:  # noqa: BLE001 - whatever it was, what came before and the other splits stay
        counts.break_off(error)
    yield tally.stats(split, counts)


def _events(
    split: Split, catalog: Catalog, reading: Reading, counts: SplitCounts, tally: _Tally
) -> Iterator[Iterable[Event]]:
    pasted = split.profile.document == PASTE
    known = _Remembered(catalog, pasted=pasted)
    matching = _Telling(split.profile, catalog, reading.cluster_of(split.file.path), counts, tally)
    batches = read_records(split, _hits_in_a_paste(catalog) if pasted else _hits_in(split.profile, catalog), counts)
    if not split.is_part:
        batches = marked_if_torn(batches)
    for batch in known.in_doubt_last(batches) if pasted else batches:
        yield matching.events(batch, known.matches(batch))
    if not split.is_part:
        yield matching.only_mentions()


class _Telling:
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
        """The first line of each group that the log names, as long as nothing in it shows what a member did."""
        self._has_group_event = False

    def events(self, records: Sequence[LogRecord], matches: Sequence[Match | Exception | None]) -> list[Event]:
        """The events of some records; one that a defect of ours spoils is noted, and the others are kept."""
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
        # A line may say that something failed, and only the trace behind it says what.
        if match is None or (match.event == "ExceptionLogged" and match.fields.get("exception") is None):
            # Between a broker's lines, those of an application may stand: in a paste, in logs that were merged.
            merged = self._pasted or (component == "broker" and self._profile.shows_members)
            thrown = exception_in(record, None if merged else component)
            match, component = thrown or match, None if merged and thrown is not None else component
        if (
            match is not None
            and match.pattern in _FAILED_WORK
            and (thrown := self._catalog.match_thrown(record.message)) is not None
        ):
            # A sink task that failed of its consumer's group tells of that group, and not only of the task; a worker
            # that failed of its own, of that.
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
        self._has_group_event = self._has_group_event or not (event is None or isinstance(event, _OF_THE_PROCESS))
        if not self._has_group_event:
            self._note(mention_of(match, record, cluster=self._cluster, host=host, component=component))
        if event is not None and event.group is not None and not event.group.isascii():
            event.group.encode()  # what no column of text can hold is spoiled here, on every engine alike
        self._tally.known(record, event)
        if record.bare:
            self._counts.recognize()
        # Brokers and controllers lose each other all day; only a client's connections concern a group.
        if type(event) is ev.NodeDisconnected and event.speaker.client_id is None and event.speaker.role == "broker":
            return None
        return event

    def only_mentions(self) -> Iterable[Event]:
        """The mentions of groups in a log that says nothing else of any."""
        return () if self._has_group_event else self._mentions.values()

    def _note(self, mention: Event | None) -> None:
        if mention is not None and mention.group is not None:
            self._mentions.setdefault(mention.group, mention)

    def _unknown(self, record: LogRecord, host: str | None, component: str | None) -> None:
        # Note the group that the prefix of a line names whose message no pattern knows, and count it.
        mention = None
        if self._pasted or not self._has_group_event or record.text.endswith(LEFT_OUT):
            mention = named_by_prefix(record, cluster=self._cluster, host=host, component=component)
        self._note(mention)
        of_a_client = component != "broker"
        self._tally.unknown(
            record, self._catalog, pasted=self._pasted, names_group=mention is not None, of_a_client=of_a_client
        )


def _hits_in(profile: FileProfile, catalog: Catalog) -> Callable[[bytes], list[int]]:
    # The words of the catalog; in a log of one layout that names what is relevant in it, that alone. Behind hundreds of
    # collections or threads of a dump, which fill the sample of the file, an application's log may go on.
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
    # A line with something left out may have lost the words that a line is found by, an error its stack trace.
    # The rest of a broken line may name a group and hold nothing else that a pattern knows.
    hits = catalog.prefilter().hits
    relevant = re.compile(re.escape(LEFT_OUT.encode()) + rb"|\b(?:ERROR|FATAL|SEVERE)\b|\bgroupId=")
    return lambda block: sorted({*hits(block), *(match.start() for match in relevant.finditer(block))})


def _is_by(programs: str, record: LogRecord) -> bool:
    """False for the words of a kernel, a supervisor or a JVM that another program logs, of itself or of anything.

    None of them logs through a logger with a name, or from a thread that has one: a kubelet prints its number.
    """
    if re.match(programs, "java"):
        # A JVM prints into the output of its process, which syslog names after the unit or the container.
        return (record.logger is None and record.level is None) or is_jvm_output(record.text)
    program = re.sub(r"^(?:stdout|stderr)|\.service$", "", record.program or "")
    if re.match(programs, program) is None:
        return False
    return record.logger is None and (record.thread is None or record.thread.replace(".", "").isdigit())


def speaks_of_groups(record: LogRecord, catalog: Catalog) -> bool:
    """True if a record is of a class that logs about groups, at a level at which the catalog should know it."""
    # The class as the layout says, else as the message's own prefix (`[GroupCoordinator 1]: …`) does.
    speaker = record.logger or record.message.lstrip("[").partition(" ")[0].rstrip("]:")
    return record.level not in _QUIET_LEVELS and catalog.is_group_class(speaker)


def _spans(split: Split, counts: SplitCounts, hosts: Sequence[HostStats], tally: _Tally) -> Iterator[LogSpan]:
    # From when to when each host is heard, by its own lines; what names no host is as long as the whole log.
    own, times = split.profile.host, counts.times
    named = ((host.host, host.opening, host.closing) for host in hosts if host.host != own)
    for host, opening, closing in ((own, times.opening, times.closing), *named):
        span = LogSpan(
            path=split.file.path,
            host=host,
            opening=opening,
            closing=closing,
            start=split.start,
            lines=_way_of(split),
            records=counts.records,
            about_groups=tally.roles.total(),
            brokers=tally.roles["broker"],
            cut_short=tally.cut_short,
            of_a_jvm=split.profile.layouts in _GC_LOGS,
        )
        if (opening is not None and closing is not None) or is_excerpt([span]):
            yield span


def _way_of(split: Split) -> WayIn:
    envelopes = {*split.profile.envelopes} - {"ansi"}
    if split.profile.document == PASTE:
        return "pasted"
    if not envelopes:
        return "plain"
    return "marked" if envelopes <= _MARKS else "collected"


class _Remembered:
    """Answers of the catalog; what goes wrong in a loop is logged in the same words a hundred thousand times."""

    def __init__(self, catalog: Catalog, *, pasted: bool) -> None:
        self._catalog = catalog
        self._pasted = pasted
        self._answers: dict[tuple[str, str | None, bool], Match | None] = {}
        self._before: dict[tuple[str, str | None, bool], Match | None] = {}
        """Those that were full when the others were begun: what is still asked for is kept, what is not goes."""
        self._characters = 0
        self._since: Release | None = None

    def in_doubt_last(self, batches: Iterable[list[LogRecord]]) -> Iterator[list[LogRecord]]:
        """The records of a paste; those that too little is left of come when the others have shown the release."""
        # All that coordinators say in one paste they say in one release, but for an upgrade.
        put_off: list[LogRecord] = []
        since: list[Release] = []
        for batch in batches:
            records: list[LogRecord] = []
            for record, match in zip(batch, self.matches(batch), strict=True):
                if match is None and LEFT_OUT in record.message:
                    put_off.append(record)
                    continue
                if isinstance(match, Match) and match.since is not None and match.pattern.startswith("broker/"):
                    since.append(match.since)
                records.append(record)
            yield records
        self._since = max(since, default=None)
        self._answers, self._before = {}, {}
        yield put_off

    def matches(self, records: Sequence[LogRecord]) -> list[Match | Exception | None]:
        """What the catalog says of each record, or the defect of ours that kept it from saying anything."""
        # It is asked about messages that begin alike one after another: what reads the first has then all at hand.
        if len(self._answers) >= REMEMBERED or self._characters > _MOST_CHARACTERS:
            self._answers, self._before, self._characters = {}, self._answers, 0
        answers, before = self._answers, self._before
        found: list[Match | Exception | None] = [None] * len(records)
        for at in sorted(range(len(records)), key=[record.message for record in records].__getitem__):
            record = records[at]
            key = record.message, record.logger, record.program is None
            answer: Any = answers.get(key, _NOT_ASKED)
            if answer is _NOT_ASKED:
                self._characters += len(record.message)
                try:
                    answer = answers[key] = before[key] if key in before else self._looked_up(record)
                except Exception as error:  # noqa: BLE001 - the caller reports it with the record's place
                    answer = error
            found[at] = answer
        return found

    def _looked_up(self, record: LogRecord) -> Match | None:
        # In a paste, or where something was left out, a message may begin and end anywhere.
        if LEFT_OUT in record.message:
            # Of the names in a prefix the end may be left out, and the message be whole.
            _, closed, behind = record.message.partition("] ")
            if closed and LEFT_OUT not in behind:
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
        # Behind the program that syslog names stands a message, however few words it has.
        in_doubt = record.bare and record.program is None
        if self._pasted and (whole is None or (in_doubt and not is_kafka_message(whole))):
            # A line may have been copied only in part, without a mark of that.
            found = self._catalog.match_inside(record.message)
            return found or self._catalog.match_inside(record.message + LEFT_OUT, since=self._since)
        # A bridge between two loggers prints a client's line inside its own.
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
        """Records about groups that are cut so early that nothing can be read of them."""
        self.named = Named()
        """Named by the lines of a paste that no pattern knows."""

    def known(self, record: LogRecord, event: Event | None) -> None:
        self.matched[record.host] += 1
        if record.host is not None:
            self._met(record)
        # A fetch position shows nothing about the group: a log with such lines alone is no excerpt about groups.
        if event is not None and type(event) is not ev.FetchPositionSet:
            self.roles[event.speaker.role] += 1
        if type(event) is ev.VersionReported and event.product == "kafka":
            self.version.setdefault(record.host, event.version)

    def unknown(
        self, record: LogRecord, catalog: Catalog, *, pasted: bool, names_group: bool, of_a_client: bool
    ) -> None:
        """Count what no pattern knows, if it is about a group: by its class, or in a paste by its prefix."""
        if pasted:
            self.named.read(record.message)
        quiet = record.bare or not speaks_of_groups(record, catalog)
        # Most clients print no class that would show which of their lines are about groups.
        if not pasted and record.text.endswith(LEFT_OUT) and (names_group or not quiet or of_a_client):
            self.cut_short += 1
        if quiet and not (pasted and names_group):
            return
        self.unmatched[record.host] += 1
        self._met(record)
        if len(self.samples) < SAMPLES:
            self.samples.append(record.text)

    def _met(self, record: LogRecord) -> None:
        if record.host is not None and record.at is not None:
            self.seen[record.host].saw(record.at, record.origin.byte_offset)

    def stats(self, split: Split, counts: SplitCounts) -> SplitStats:
        """All counts of the split."""
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
