"""Reading takes as many steps as a log has bytes, whatever its lines look like: steps are counted, not seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rebalance_forensics.sources.files.places import Place
from rebalance_forensics.sources.files.walk import discover
from rebalance_forensics.sources.lines.blocks import LineStarts
from rebalance_forensics.sources.profiles.neighbours import profile
from rebalance_forensics.sources.records import bulk_framer, line_framer, record_reader
from rebalance_forensics.sources.records.record_reader import SplitCounts, read_records
from rebalance_forensics.sources.records.splits import Split

HEADER = b"[2026-11-20 10:15:30,123] INFO started (kafka.server.KafkaServer)\n"
SMALL = 96 << 10
CHUNK = 16 << 10
"""Blocks are small here, so that a few of them show what many large ones would."""


class Steps:
    """What reading does: lines tested, bytes of blocks gone through, and lines counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken = 0
        test = bulk_framer.BulkFramer._is_header  # noqa: SLF001 - the step that is counted
        steps = self

        def counted(framer: bulk_framer.BulkFramer, data: bytes, at: int, stop: int) -> bool:
            steps.taken += 1
            return test(framer, data, at, stop)

        class Counting(LineStarts):
            def __init__(self, data: bytes) -> None:
                steps.taken += len(data)
                super().__init__(data)

            def beginning_with(self, beginnings: tuple[bytes, ...], end: int) -> int:  # type: ignore[override]
                steps.taken += end
                return super().beginning_with(beginnings, end)

        monkeypatch.setattr(bulk_framer.BulkFramer, "_is_header", counted)
        monkeypatch.setattr(bulk_framer, "LineStarts", Counting)
        monkeypatch.setattr(bulk_framer, "MAX_LINES", 100)
        monkeypatch.setattr(bulk_framer, "MAX_BYTES", 4 << 10)
        monkeypatch.setattr(line_framer, "_MOST_PARTS", 64)

    def of(self, path: Path, data: bytes) -> int:
        """How many it takes to read a file."""
        path.write_bytes(data)
        file = discover([str(path)]).files[0]
        split = Split(file=file, profile=profile(file), index=0)
        self.taken = 0
        for _ in read_records(
            split, lambda block: [block.find(b"started")] if b"started" in block else [], SplitCounts()
        ):
            pass
        return self.taken


def in_small_chunks(place: Place, start: int = 0) -> Iterator[bytes]:
    data = Path(place.location).read_bytes()[start:]
    return iter([data[at : at + CHUNK] for at in range(0, len(data), CHUNK)])


@pytest.mark.parametrize(
    "log",
    [
        lambda size: (HEADER + b"x\n" * 8000) * (size // 16_000),
        lambda size: HEADER + b"x\n" * (size // 2),
        lambda size: HEADER + b"java.lang.X: y\n" * (size // 15),
        lambda size: HEADER + b"\tat a.b.C(D.java:1)" * (size // 20) + b"\n" + HEADER,
        lambda size: HEADER * (size // len(HEADER)),
        lambda size: HEADER + b"\x00" * size + HEADER,
    ],
    ids=["headers far apart", "one record", "one record of text", "one line", "records", "NUL"],
)
def test_twice_the_log_takes_twice_the_steps(
    log: Callable[[int], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    steps = Steps(monkeypatch)
    monkeypatch.setattr(record_reader, "chunks_of", in_small_chunks)
    once, fourfold = (steps.of(tmp_path / "server.log", log(size)) for size in (SMALL, 4 * SMALL))
    assert fourfold < 4.8 * once
    assert fourfold < 16 * SMALL
