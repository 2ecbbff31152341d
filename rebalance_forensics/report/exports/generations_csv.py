"""Every generation of every group as CSV."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.times import iso

SUFFIX = ".generations.csv"
TITLES = (
    *("cluster", "group", "generation", "started_at", "completed_at", "ms", "trigger", "followup", "outcome", "leader"),
    *("members", "joined", "left", "reason"),
)


def export(report: Report) -> str:
    """Write one row a generation."""
    rows = (
        (
            *(
                history.cluster,
                history.group,
                generation.generation,
                iso(generation.started_at),
                iso(generation.completed_at),
            ),
            *(
                generation.took_ms,
                generation.trigger,
                generation.followup,
                generation.outcome,
                generation.leader,
                generation.size,
            ),
            *(" ".join(generation.joined), " ".join(generation.left), generation.reason),
        )
        for history in report.groups
        for generation in history.generations
    )
    return table(TITLES, rows)
