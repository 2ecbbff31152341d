from __future__ import annotations

from dataclasses import replace

from rebalance_forensics.diagnosis.model import Gap
from rebalance_forensics.report import terminal
from rebalance_forensics.report.conclusions import caveat, conclusion
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.model import Report
from tests.report.building import healthy_report


def wholly_read() -> Report:
    return replace(healthy_report(), inputs=tuple(replace(one, errors=()) for one in healthy_report().inputs))


def half_read() -> Report:
    healthy = wholly_read()
    gap = a_gap("failed")
    unread = replace(healthy.inputs[0], errors=("the gzip ends early",))
    return replace(healthy, gaps=(gap,), inputs=(unread, *healthy.inputs[1:]))


def test_a_report_of_everything_has_no_caveat() -> None:
    assert caveat(wholly_read()) == ""


def test_no_fault_found_is_not_said_without_what_could_not_be_looked_at() -> None:
    sentence = "But 1 group could not be investigated and 1 file could not be read whole."
    assert caveat(half_read()) == sentence
    assert sentence in " ".join(terminal.render(half_read()).split())
    assert sentence in to_html(half_read())
