"""What keeps a verdict from being the whole truth: groups that failed, files that could not be read."""

from __future__ import annotations

from rebalance_forensics.report.model import Report
from rebalance_forensics.report.wording import count

NOT_INVESTIGATED = "could not be investigated"


def caveat(report: Report) -> str:
    """One sentence, empty where everything was read and investigated."""
    failed = sum(NOT_INVESTIGATED in gap.what for gap in report.gaps)
    unread = sum(bool(one.errors) for one in report.inputs)
    missing = [
        *([f"{count(failed, 'group')} {NOT_INVESTIGATED}"] if failed else []),
        *([f"{count(unread, 'file')} could not be read whole"] if unread else []),
    ]
    return f"But {' and '.join(missing)}." if missing else ""
