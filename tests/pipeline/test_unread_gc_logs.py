"""A GC log that lies there and cannot be read shows nothing of its JVM, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from tests.conftest import SHORT_LOG

OF_GO = "gc 7 @0.034s 1%: 0.02+0.41+0.004 ms clock, 0.08+0.1/0.3/0.6+0.016 ms cpu, 4->4->0 MB, 4 MB goal, 4 P\n"
OF_HOTSPOT = "[0.115s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 2.5ms\n"


@pytest.mark.parametrize(("lines", "is_read"), [(OF_GO, False), (OF_HOTSPOT, True)])
def test_a_gc_log_in_no_known_format_is_named(lines: str, *, is_read: bool, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(SHORT_LOG)
    (tmp_path / "gc.log").write_text(lines * 4)
    report = rf.analyze(tmp_path, engine="local").report
    assert any(gap.what.startswith("gc.log is called a GC log") for gap in report.gaps) != is_read
