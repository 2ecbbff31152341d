"""The cases of all groups, an outline of each at hand: the histories and incidents of a busy cluster fill gigabytes."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Sequence
from typing import Protocol, cast
from weakref import finalize

import pyarrow as pa
from msgspec import Raw, Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import CaseOutline, GroupCase
from rebalance_forensics.diagnosis.model import Gap, Headline, Incident
from rebalance_forensics.pipeline.schemas import object_of
from rebalance_forensics.process import scratch
from rebalance_forensics.timeline.clocks.file_clocks import FileClock
from rebalance_forensics.timeline.model import GroupHistory, GroupOutline
from rebalance_forensics.timeline.unnamed_groups import SpeakerKey

# Lines stand in evidence, chains and signs alike: this makes a fifth of them, as fast as they are written.
_CODEC = "lz4"
_SIZE = 4


class Cases(Protocol):
    """Cases by their place."""

    @property
    def outlines(self) -> Sequence[CaseOutline]:
        """What a report has to know of each."""

    def history(self, case: int) -> GroupHistory:
        """The history of a case."""

    def incident(self, case: int, number: int) -> Incident:
        """One incident of a case."""


class CasesInMemory:
    """Cases as they were made, in this process."""

    def __init__(self, cases: Sequence[GroupCase]) -> None:
        self.outlines = cases

    def history(self, case: int) -> GroupHistory:
        """The history of a case."""
        return self.outlines[case].history

    def incident(self, case: int, number: int) -> Incident:
        """One incident of a case."""
        return self.outlines[case].incidents[number]


class CasesInFile:
    """Cases as other processes encoded them: their histories and incidents lie in a file."""

    def __init__(self) -> None:
        self.outlines: list[CaseOutline] = []
        self._parts = _EncodedParts()
        self._first = array("q")
        """Of each case the number of its history; those of its incidents follow."""

    def add(self, payload: str) -> None:
        """Take in what a row holds of a case."""
        case = object_of(_EncodedCase, payload)
        self._first.append(self._parts.add(case.history))
        for incident in case.incidents:
            self._parts.add(incident)
        self.outlines.append(case.outline())

    def history(self, case: int) -> GroupHistory:
        """The history of a case."""
        return object_of(GroupHistory, self._parts[self._first[case]])

    def incident(self, case: int, number: int) -> Incident:
        """One incident of a case."""
        return object_of(Incident, self._parts[self._first[case] + 1 + number])


class _EncodedCase(Struct, frozen=True, kw_only=True):
    """A GroupCase whose history and incidents were left as they came."""

    history: Raw
    incidents: tuple[Raw, ...]
    gaps: tuple[Gap, ...]
    clocks: tuple[FileClock, ...]
    speakers: tuple[SpeakerKey, ...] = ()
    from_unnamed: bool = False

    def outline(self) -> CaseOutline:
        """What is at hand of it; members of whom no host is known are not placed, and are most of the memory."""
        group = object_of(GroupOutline, self.history)
        placed = tuple([identity for identity in group.identities if identity.host])
        return CaseOutline(
            history=replace(group, identities=placed),
            incidents=tuple(object_of(Headline, incident) for incident in self.incidents),
            gaps=self.gaps,
            clocks=self.clocks,
            speakers=self.speakers,
            from_unnamed=self.from_unnamed,
        )


class _EncodedParts:
    """Bytes one after another in a file without a name: no other process reads it, and it ends with this object."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(dir=scratch.directory())  # noqa: SIM115 - open as long as this object lives
        finalize(self, self._file.close)
        self._begins = array("q", [0])

    def add(self, part: Raw) -> int:
        """Take a part in; the number it is asked for by."""
        packed = pa.compress(part, codec=_CODEC, asbytes=True)
        self._file.seek(self._begins[-1])
        self._file.write(len(part).to_bytes(_SIZE, "little"))
        self._file.write(packed)
        self._begins.append(self._begins[-1] + _SIZE + len(packed))
        return len(self._begins) - 2

    def __getitem__(self, number: int) -> bytes:
        begin, end = self._begins[number], self._begins[number + 1]
        self._file.seek(begin)
        size = int.from_bytes(self._file.read(_SIZE), "little")
        packed = self._file.read(end - begin - _SIZE)
        return cast("bytes", pa.decompress(packed, decompressed_size=size, codec=_CODEC, asbytes=True))
