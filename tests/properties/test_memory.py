"""A case is let go as soon as it is made: nothing that a timeline keeps refers back to it."""

from __future__ import annotations

import gc
from pathlib import Path

import rebalance_forensics as rf
from rebalance_forensics.timeline.group_timeline import Timeline

SAMPLES = sorted(p for p in (Path(__file__).parents[2] / "sample_logs").iterdir() if p.is_dir())


def test_a_timeline_is_freed_with_its_case() -> None:
    # One cached answer that held its timeline left 200 groups to the garbage collector: a tenth more CPU.
    gc.collect()
    gc.disable()
    known = {id(found) for found in gc.get_objects() if isinstance(found, Timeline)}
    try:
        for sample in SAMPLES[::4]:
            rf.analyze(sample, engine="local")
            left = [found.group for found in gc.get_objects() if isinstance(found, Timeline) and id(found) not in known]
            assert not left, f"{sample.name}: an answer refers to the timeline of {left}"
    finally:
        gc.enable()
