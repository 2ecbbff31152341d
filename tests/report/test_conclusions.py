from __future__ import annotations

import json

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Gap, GapKind
from rebalance_forensics.report import terminal
from rebalance_forensics.report.conclusions import caveat, conclusion
from rebalance_forensics.report.exports import formats
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.model import Report
from tests.report.building import a_startup, crash_report, empty_report, healthy_report
from tests.report.weighed import an_unexplained


def wholly_read() -> Report:
    return replace(healthy_report(), inputs=tuple(replace(one, errors=()) for one in healthy_report().inputs))


def half_read() -> Report:
    healthy = wholly_read()
    gap = a_gap("failed")
    unread = replace(healthy.inputs[0], errors=("the gzip ends early",))
    return replace(healthy, gaps=(gap,), inputs=(unread, *healthy.inputs[1:]))


def test_a_report_of_everything_has_no_caveat() -> None:
    assert caveat(wholly_read()) == ""


def test_no_fault_found_is_reported_together_with_what_could_not_be_checked() -> None:
    sentence = "But 1 group could not be investigated and 1 file could not be read whole."
    assert caveat(half_read()) == sentence
    assert sentence in " ".join(terminal.render(half_read()).split())
    assert sentence in to_html(half_read())


def a_gap(kind: GapKind) -> Gap:
    return Gap(what=f"Group orders ({kind}).", started_at=None, ended_at=None, consequence="", kind=kind)


def outputs(report: Report) -> dict[str, str]:
    slack = json.loads(formats()["slack"](report))["text"]
    markdown = formats()["markdown"](report)
    return {"terminal": terminal.render(report), "page": to_html(report), "slack": slack, "markdown": markdown}


def test_everything_is_planned_or_benign_where_all_of_it_was_judged() -> None:
    concluded = conclusion(wholly_read())
    assert str(concluded) == "No fault found: 1 group with 1 generation, everything planned or benign."
    assert concluded.calm
    for text in outputs(wholly_read()).values():
        assert "everything planned or benign" in text


def test_logs_that_are_still_written_show_no_fault_so_far_and_up_to_when_they_were_read() -> None:
    until = "read up to 2026-03-01 10:00:00 UTC."
    report = replace(wholly_read(), inputs=tuple(replace(log, last=1772359200000) for log in wholly_read().inputs))
    assert str(conclusion(report, so_far=True)).startswith("No fault so far: 1 group with 1 generation, ")
    assert str(conclusion(report, so_far=True)).endswith(f"; {until}")
    forming = replace(report, groups=tuple(replace(group, generations=()) for group in report.groups))
    early = "Too early to judge: 1 group, no rebalance completed yet; "
    assert str(conclusion(forming, so_far=True)) == early + until


def test_an_unexplained_rebalance_is_not_benign() -> None:
    report = replace(wholly_read(), incidents=(a_startup(), an_unexplained()))
    assert str(conclusion(report)).startswith("1 rebalance unexplained, no fault found: 1 group with 1 generation, ")
    assert not conclusion(report).calm
    texts = outputs(report)
    for name, text in texts.items():
        assert "1 rebalance unexplained" in text
        assert "everything planned or benign" not in text, name
    assert "Unexplained: 1\n  info  unexplained  payments on prod\n" in texts["terminal"]
    assert "Planned or benign: 1\n  startup" in texts["terminal"]
    assert '<h2 id="unexplained">Unexplained</h2>' in texts["page"]
    faulty = replace(crash_report(), incidents=(*crash_report().incidents, an_unexplained()))
    assert "## Unexplained\n\n- payments on prod, 2026-03-01" in formats()["markdown"](faulty)


def test_too_little_to_judge_is_no_clean_bill() -> None:
    alone = replace(wholly_read(), incidents=(), gaps=(a_gap("too-little"),))
    assert str(conclusion(alone)) == "Nothing could be judged: too little is logged about 1 group."
    beside = replace(wholly_read(), gaps=(a_gap("too-little"),))
    assert str(conclusion(beside)).startswith("No fault found in what could be judged: 1 group with 1 generation, ")
    for report in (alone, beside):
        assert not conclusion(report).calm
        for text in outputs(report).values():
            assert "too little is logged about 1 group" in flat(text)


def test_a_group_without_events_is_not_reported_as_planned_changes() -> None:
    quiet = replace(wholly_read(), incidents=())
    assert str(conclusion(quiet)) == "No fault found: 1 group with 1 generation, no incident."
    failed = replace(empty_report(), gaps=(a_gap("failed"),))
    assert "Nothing could be judged. But 1 group could not be investigated" in flat(terminal.render(failed))
    assert "No consumer group was found in these logs." in terminal.render(empty_report())


def flat(text: str) -> str:
    return " ".join(text.split())
