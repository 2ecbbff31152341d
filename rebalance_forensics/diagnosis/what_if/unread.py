"""From who owned what to the two figures: unread partition time, and time in which the whole group stopped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.what_if.consumer import Held
from rebalance_forensics.diagnosis.what_if.faults import FaultSequence, StoodStill

Span = tuple[float, float]


class Unread(Struct, frozen=True, kw_only=True):
    """What one replay shows. Milliseconds."""

    spans: Mapping[str, tuple[Span, ...]]
    """Partition -> when nobody could read it."""
    stopped: tuple[Span, ...]
    """When nobody read any partition."""

    @property
    def partition_ms(self) -> float:
        """The sum over all partitions."""
        return sum(self.by_partition().values())

    @property
    def stopped_ms(self) -> float:
        """For how long the whole group stopped."""
        return _length(self.stopped)

    def by_partition(self) -> dict[str, float]:
        """For how long each partition was unread."""
        return {partition: _length(spans) for partition, spans in self.spans.items()}


def unread_of(sequence: FaultSequence, readings: Iterable[Held]) -> Unread:
    """The gaps between the readings; who is frozen or stuck owns partitions without reading them."""
    read: dict[str, list[Span]] = defaultdict(list)
    still = _standstills(sequence)
    for one in readings:
        read[one.partition] += awake((one.begin, one.end), still[one.member])
    begin, until = sequence.begin, sequence.until
    everything = [span for spans in read.values() for span in spans]
    return Unread(
        spans={partition: tuple(gaps(read[partition], begin, until)) for partition in sequence.partitions},
        stopped=tuple(gaps(everything, begin, until)),
    )


def _standstills(sequence: FaultSequence) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = defaultdict(list)
    for fault in sequence.faults:
        if isinstance(fault, StoodStill):
            found[fault.member].append((fault.begin, fault.end))
    return found


def awake(span: Span, still: Sequence[Span]) -> list[Span]:
    """A span without the standstills inside it."""
    left = [span]
    for begin, end in still:
        parts = [part for a, b in left for part in ((a, min(b, begin)), (max(a, end), b))]
        left = [(a, b) for a, b in parts if a < b]
    return left


def gaps(read: Iterable[Span], begin: float, until: float) -> Iterator[Span]:
    """Where none of the spans is."""
    reached = begin
    for since, end in sorted(read):
        if since > reached:
            yield reached, min(since, until)
        reached = max(reached, end)
    if reached < until:
        yield reached, until


def _length(spans: Iterable[Span]) -> float:
    return sum(end - begin for begin, end in spans)
