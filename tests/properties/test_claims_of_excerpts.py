"""The law of a claim: what a few lines are said to show, the whole logs bear out."""

from __future__ import annotations

from pathlib import Path

from benchmarks.excerpts import counted, drawn

SAMPLES = Path(__file__).parents[2] / "sample_logs"
INCIDENTS = sorted(path for path in SAMPLES.iterdir() if path.is_dir())
OF_EACH, SEED = 6, 35
LEAST = {0.9: 0.96, 0.75: 0.85}
"""How many of the claims have to hold; benchmarks/CALIBRATION.md measures ten thousand excerpts."""


def test_the_whole_logs_bear_out_what_their_excerpts_claim() -> None:
    results = [drawn(incident, OF_EACH, SEED) for incident in INCIDENTS]
    claims = [claim for result in results for claim in result.claims]
    for level, (held, of) in counted(claims).items():
        refuted = [claim for claim in claims if not claim.holds and claim.confidence >= level]
        assert held >= LEAST.get(level, 0) * of, f"{held} of {of} claims at {level} hold: {refuted}"
    assert 4 * sum(result.spoke for result in results) >= sum(result.excerpts for result in results)
