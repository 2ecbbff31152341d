"""Writes docs/known-bugs.md from the known bugs."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.reference.known_bugs import Bug, all_bugs
from rebalance_forensics.timeline.releases import Affected

OPENING = """# Known bugs of Kafka

A finding names a bug only if a process of the group logs an affected release **and** the lines near the finding show
the bug's signature. A release alone is not sufficient, and neither is the signature if no process logs its release.
`make fmt` writes this page from [known_bugs.yaml](../rebalance_forensics/diagnosis/reference/known_bugs.yaml).
"""


def document() -> str:
    """The text of docs/known-bugs.md."""
    matched = [b for b in all_bugs() if b.signature is not None]
    others = [b for b in all_bugs() if b.signature is None]
    return "\n".join([OPENING, *_matched(matched), "", *_unmatched(others), ""])


def _matched(bugs: list[Bug]) -> Iterator[str]:
    yield f"## Found in logs ({len(bugs)})\n"
    yield "| bug | what is wrong | affected | fixed in | how it shows |"
    yield "|---|---|---|---|---|"
    for bug in bugs:
        fixed = ", ".join(bug.fixed_in) or "not known"
        yield f"| {_link(bug)} | {bug.title} | {bug.component} {_affected(bug)} | {fixed} | {bug.says} |"


def _unmatched(bugs: list[Bug]) -> Iterator[str]:
    yield f"## Not found in logs ({len(bugs)})\n"
    yield "| bug | what is wrong | fixed in | why logs cannot prove it |"
    yield "|---|---|---|---|"
    for bug in bugs:
        yield f"| {_link(bug)} | {bug.title} | {', '.join(bug.fixed_in) or 'not known'} | {bug.not_matched} |"


def _link(bug: Bug) -> str:
    return f"[{bug.jira}](https://issues.apache.org/jira/browse/{bug.jira})"


def _affected(bug: Bug) -> str:
    return ", ".join(_range(r) for r in bug.ranges)


def _range(affected: Affected) -> str:
    first = ".".join(map(str, affected.first))
    if affected.below is None:
        return f"{first} and later"
    below = ".".join(map(str, affected.below))
    return f"before {below}" if affected.first == (0,) else f"{first} to before {below}"
