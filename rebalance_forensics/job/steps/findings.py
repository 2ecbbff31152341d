"""Third step of a job: the driver relates the incidents of different groups, tasks write their rows.

Cases stay in files that the investigating tasks wrote. The driver holds an outline of each; it reads a full case only
if incidents of several groups are merged, or for a page or a message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, cast
from uuid import uuid4

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import defects
from rebalance_forensics.diagnosis.case import CaseOutline, GroupCase
from rebalance_forensics.diagnosis.cluster.incidents import ClusterIncidents
from rebalance_forensics.diagnosis.model import Gap, Headline, Incident
from rebalance_forensics.job.lake.row_files import PartWriter
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.report_assembly import relate_incidents
from rebalance_forensics.pipeline.results import outline_of
from rebalance_forensics.pipeline.schemas import message_batch, object_of, payload_of
from rebalance_forensics.pipeline.tables.rows import history_rows, incident_rows
from rebalance_forensics.timeline.model import BrokerOutage, GroupHistory

# The same lines appear in evidence, chains and signs: lz4 reduces cases to a fifth without slowing the writes.
_CODEC = "lz4"


class CaseOfDate(GroupCase, frozen=True, kw_only=True, gc=False):
    """A group's case with the incidents of one date."""

    day: int
    own: GroupHistory
    """The part of the history that is written to the tables under this date."""


class Place(Struct, frozen=True, kw_only=True):
    """The location of a case in a file."""

    day: int
    file: str
    begin: int
    packed: int
    size: int
    """Uncompressed bytes."""


class Kept(Place, frozen=True, kw_only=True):
    """The location of a case, with its outline."""

    outline: CaseOutline

    @property
    def order(self) -> tuple[int, str, str]:
        """The sort key of the cases of a run."""
        return self.day, self.outline.history.cluster, self.outline.history.group


class CaseFile:
    """A file of the cases of one investigating task; it is created with the first case."""

    def __init__(self, store: Store, path: str) -> None:
        self._store, self._path = store, path
        self._stream: Any = None
        self._end = 0
        self._outages: set[tuple[str, BrokerOutage]] = set()

    def next_part(self) -> None:
        """Start another date or shard: outages that earlier cases list have to be listed again."""
        self._outages.clear()

    def add(self, case: CaseOfDate) -> Kept:
        """Append a case; returns its location and outline."""
        history = case.history
        outages = self._not_yet_listed(history)
        payload = payload_of(replace(case, history=replace(history, outages=()))).encode()
        outline = outline_of(payload)
        packed = pa.compress(payload, codec=_CODEC, asbytes=True)
        if self._stream is None:
            self._stream = self._store.create(self._path)
        self._stream.write(packed)
        begin, self._end = self._end, self._end + len(packed)
        return Kept(
            day=case.day, file=self._path, begin=begin, packed=len(packed), size=len(payload),
            outline=replace(outline, history=replace(outline.history, outages=outages)),
        )  # fmt: skip

    def _not_yet_listed(self, history: GroupHistory) -> tuple[BrokerOutage, ...]:
        # Every group lists the outages of all brokers with their lines, but relating incidents needs each only once:
        # for 20,000 groups, outages took 370 of 430 MB.
        found = tuple([outage for outage in history.outages if (history.cluster, outage) not in self._outages])
        self._outages.update((history.cluster, outage) for outage in found)
        return found

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


def _read(stream: Any, kept: Place) -> CaseOfDate:  # noqa: ANN401 - pyarrow has no types
    stream.seek(kept.begin)
    payload = pa.decompress(stream.read(kept.packed), decompressed_size=kept.size, codec=_CODEC, asbytes=True)
    return object_of(CaseOfDate, cast("bytes", payload))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedIncident:
    """An incident of a date, with the histories of the groups that it affected and the gaps of their cases."""

    day: int
    incident: Incident
    histories: tuple[GroupHistory, ...]
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The input of the tasks that write the rows of groups; rows of cluster incidents are written by the driver."""

    store: Store
    run: str
    files: tuple[tuple[Place, ...], ...]
    """For each file, the locations of its cases in order."""
    shared: Mapping[int, ClusterIncidents]
    """Date -> which incidents of groups were merged into cluster incidents; without the latter."""


def write_findings(what: Findings, task: int) -> Iterator[pa.RecordBatch]:
    """Write the rows of one file of cases; yields messages with the written files and internal errors."""
    attempt = f"{what.run}-{uuid4().hex[:8]}"
    writer = PartWriter(what.store, attempt)
    failed: list[tuple[str, str]] = []
    with what.store.open(what.files[task][0].file) as stream:
        for number, (_, of_date) in enumerate(groupby(what.files[task], key=lambda kept: kept.day)):
            writer.next_part(f"{attempt}-{number}")
            for case in (_read(stream, kept) for kept in of_date):
                shared = what.shared[case.day]
                failed += _add_history(writer, case, shared)
                failed += add_rows(writer, case.day, shared.own(case.incidents))
    writer.finish()
    yield message_batch([*(("file", file) for file in writer.finished), *failed])


def _add_history(writer: PartWriter, case: CaseOfDate, shared: ClusterIncidents) -> Iterator[tuple[str, str]]:
    # The rows of a group's history, with the cluster incidents applied.
    try:
        rows = list(history_rows(shared.in_history(case.own)))
    except Exception as error:  # noqa: BLE001 - the other groups are still written
        yield "defect", defects.sentence(f"the history of group {case.history.group} could not be written", error)
    else:
        for table, row in rows:
            writer.add(table.name, case.day, case.history.cluster, row)


def add_rows(writer: PartWriter, day: int, incidents: Iterable[Incident]) -> Iterator[tuple[str, str]]:
    """Write the rows of some incidents of a date; yields a message for each that an internal error prevented."""
    for incident in incidents:
        try:
            rows = list(incident_rows(incident))
        except Exception as error:  # noqa: BLE001 - the other incidents are still written
            problem = f"incident {incident.id} of group {', '.join(incident.group_names)} could not be written"
            yield "defect", defects.sentence(problem, error)
        else:
            for table, row in rows:
                writer.add(table.name, day, incident.cluster, row)


@dataclass(slots=True)
class _OfDate:
    """The cases of one date, as a range of all cases, and their cluster incidents."""

    places: range
    shared: ClusterIncidents


@dataclass(slots=True)
class Incidents:
    """The incidents of all dates that a run writes: outlines in memory, full cases in the files of the tasks."""

    store: Store
    kept: Sequence[Kept] = ()
    defects: list[str] = field(default_factory=list)
    _dates: list[_OfDate] = field(default_factory=list)

    def relate(self) -> None:
        """Relate the incidents of different groups on each date."""
        self.kept = sorted(self.kept, key=lambda kept: kept.order)
        for _, of_date in groupby(range(len(self.kept)), key=lambda place: self.kept[place].day):
            numbers = list(of_date)
            places = range(numbers[0], numbers[-1] + 1)

            def whole(case: int, number: int, first: int = places.start) -> Incident:
                return self._case(first + case).incidents[number]

            shared, gaps = relate_incidents([self.kept[place].outline for place in places], whole)
            self.defects += [f"{gap.what}; {gap.consequence}" for gap in gaps]
            self._dates.append(_OfDate(places, shared))

    def _case(self, place: int) -> CaseOfDate:
        with self.store.open(self.kept[place].file) as stream:
            return _read(stream, self.kept[place])

    @property
    def headlines(self) -> Iterator[tuple[int, Headline]]:
        """Each incident with its date; on each date, incidents of clusters come first."""
        for of_date in self._dates:
            day = self.kept[of_date.places.start].day
            yield from ((day, incident) for incident in of_date.shared.incidents)
            for place in of_date.places:
                own = self.kept[place].outline.incidents
                yield from (
                    (day, headline) for headline in own if headline.id not in of_date.shared.cluster_incident_of
                )

    @property
    def of_clusters(self) -> Iterator[tuple[int, Incident]]:
        """The cluster incidents with their dates."""
        for of_date in self._dates:
            yield from ((self.kept[of_date.places.start].day, incident) for incident in of_date.shared.incidents)

    def findings(self, run: str) -> Findings:
        """The input of the writing tasks, one per file of cases."""
        by_file: dict[str, list[Place]] = defaultdict(list)
        for kept in self.kept:
            by_file[kept.file].append(
                Place(day=kept.day, file=kept.file, begin=kept.begin, packed=kept.packed, size=kept.size)
            )
        return Findings(
            store=self.store, run=run, files=tuple(map(tuple, by_file.values())),
            shared={
                self.kept[of_date.places.start].day: replace(of_date.shared, incidents=()) for of_date in self._dates
            },
        )  # fmt: skip

    def whole(self, severities: Collection[str]) -> Iterator[DatedIncident]:
        """The incidents of these severities with the histories of their groups; reads one case at a time."""
        for of_date in self._dates:
            day = self.kept[of_date.places.start].day
            by_name = {self.kept[place].order[1:]: place for place in of_date.places}
            for incident in of_date.shared.incidents:
                if incident.severity in severities:
                    cases = (self._case(by_name[incident.cluster, group]) for group in incident.group_names)
                    histories = tuple(of_date.shared.in_history(case.history) for case in cases)
                    yield DatedIncident(day=day, incident=incident, histories=histories)
            for place in of_date.places:
                wanted = {i.id for i in self.kept[place].outline.incidents if i.severity in severities}
                if wanted - of_date.shared.cluster_incident_of.keys():
                    case = self._case(place)
                    history = of_date.shared.in_history(case.history)
                    for incident in of_date.shared.own(case.incidents):
                        if incident.id in wanted:
                            yield DatedIncident(day=day, incident=incident, histories=(history,), gaps=case.gaps)
