"""What was read of all inputs together, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.report.wording import count, size, thousands


def what_was_read(inputs: Sequence[InputSummary]) -> str:
    """`2 files, 110 kB, 219 lines with 405 records; 404 matched, 0 unrecognized consumer-group lines, 4 unparsed.`."""
    lines, records = sum(one.lines for one in inputs), sum(one.records for one in inputs)
    # A line of an export may hold several records, and records are what is matched.
    held = f" with {count(records, 'record')}" if records > lines else ""
    # A file that holds the logs of several processes is an input for each of them.
    files = count(len({one.path for one in inputs}), "file")
    return (
        f"{files}, {size(sum(one.bytes for one in inputs))}, {count(lines, 'line')}{held}; "
        f"{thousands(sum(one.matched for one in inputs))} matched, "
        f"{count(sum(one.unmatched_kafka for one in inputs), 'unrecognized consumer-group line')}, "
        f"{thousands(sum(one.unparsed for one in inputs))} unparsed."
    )
