"""What goes wrong in a loop is logged in the same words again and again: the catalog is asked about them once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.pipeline import read_split
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.sources.records import record_builder

LINE = (
    "[2026-03-01 10:{minute:02d}:{second:02d},000] INFO [GroupCoordinator 1]: Member {member} in group payments has "
    "failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)\n"
)


def test_a_line_that_comes_again_and_again_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    whole = Catalog.match

    def counted(catalog: Catalog, message: str, *, logger: str | None = None, level: str | None = None) -> Match | None:
        asked[message.split()[3]] += 1
        return whole(catalog, message, logger=logger, level=level)

    monkeypatch.setattr(Catalog, "match", counted)
    monkeypatch.setattr(read_split, "MAX_CACHED", 8)
    monkeypatch.setattr(record_builder, "_LEAST_BYTES", 1 << 18)
    members = [name for other in range(40) for name in ("same", f"other-{other}")]
    log = tmp_path / "server.log"
    log.write_text("".join(LINE.format(minute=n // 60, second=n % 60, member=name) for n, name in enumerate(members)))
    report = analyze([str(log)], AnalyzeOptions(engine="local"))
    assert [one.matched for one in report.inputs] == [80]
    assert asked["same"] == 1
    assert {asked[f"other-{other}"] for other in range(40)} == {1}
