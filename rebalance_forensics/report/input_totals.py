"""What was read of all inputs together, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.report.wording import count, size, thousands


def totals_of_inputs(inputs: Sequence[InputSummary]) -> str:
    """`2 files, 110 kB, 219 lines with 405 records; 404 matched, 0 unrecognized consumer-group lines, 4 unparsed.`."""
    lines, records = sum(log.lines for log in inputs), sum(log.records for log in inputs)
    # A line of an export may hold several records, and records are what is matched.
    with_records = f" with {count(records, 'record')}" if records > lines else ""
    # A file that holds the logs of several processes is an input for each of them.
    files = count(len({log.path for log in inputs}), "file")
    return (
        f"{files}, {size(sum(log.bytes for log in inputs))}, {count(lines, 'line')}{with_records}; "
        f"{thousands(sum(log.matched for log in inputs))} matched, "
        f"{count(sum(log.unmatched_kafka for log in inputs), 'unrecognized consumer-group line')}, "
        f"{thousands(sum(log.unparsed for log in inputs))} unparsed."
    )
