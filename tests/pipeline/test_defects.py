"""A defect of ours spoils the one record, file, group or rule it meets, is named with its place, and ends no run."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.defects import ASK, DefectError
from rebalance_forensics.diagnosis.cluster import incidents
from rebalance_forensics.pipeline import stages
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import Analysis, analyze, analyze_with_events
from rebalance_forensics.report.model import Report
from rebalance_forensics.sources.files import contents, rotation
from rebalance_forensics.sources.profiles import profile
from rebalance_forensics.sources.records import record_builder
from rebalance_forensics.sources.records.bulk_framer import BulkFramer
from tests.broken_causes import causes_but_for
from tests.conftest import SHORT_LOG

LOCAL = AnalyzeOptions(engine="local")
FRAME = r"\([a-z_/]+\.py:\d+, \w+\)"
Break = Callable[..., None]


@pytest.fixture
def two_logs(tmp_path: Path) -> Path:
    """A good log of the group orders, and one of the group payments that a defect will meet."""
    root = tmp_path / "two"
    root.mkdir()
    (root / "good.log").write_text(SHORT_LOG.replace("payments", "orders"))
    (root / "bad.log").write_text(SHORT_LOG)
    return root


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Makes a real stage raise where what it is given speaks of something."""

    def breaks(place: Any, name: str, about: str, error: Exception | None = None) -> None:  # noqa: ANN401
        whole = getattr(place, name)

        def breaking(*given: Any, **named: Any) -> Any:  # noqa: ANN401
            if about in repr(given[:2]):
                raise error or LookupError("no such case")
            return whole(*given, **named)

        monkeypatch.setattr(place, name, breaking)

    return breaks


def errors(report: Report) -> dict[str, tuple[str, ...]]:
    return {one.path: one.errors for one in report.inputs if one.errors}


def groups(report: Report) -> list[str]:
    return [one.group for one in report.groups]


def owed(report: Report) -> list[str]:
    return [gap.what for gap in report.gaps if gap.is_defect]


def test_a_file_whose_layout_is_not_recognized_is_named_and_the_others_are_read(two_logs: Path, breaks: Break) -> None:
    breaks(profile, "sample_of", "bad.log")
    report = analyze([str(two_logs)], LOCAL)
    ((path, (error,)),) = errors(report).items()
    assert path == "bad.log"
    assert re.fullmatch(
        rf"its layout could not be determined: LookupError: no such case {FRAME}; {re.escape(ASK)}", error
    )
    assert groups(report) == ["orders"]


def test_a_defect_between_files_leaves_each_of_them_readable(two_logs: Path, breaks: Break) -> None:
    breaks(rotation, "chains", "bad.log")
    report = analyze([str(two_logs)], LOCAL)
    assert (groups(report), len(errors(report))) == (["orders", "payments"], 2)


def test_a_member_of_an_archive_that_cannot_be_opened_is_named_by_its_path(
    two_logs: Path, tmp_path: Path, breaks: Break
) -> None:
    bundle = tmp_path / "bundle.tgz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(two_logs, "logs")
    breaks(contents, "is_own_output", "logs/bad.log", TypeError("no such kind"))
    report = analyze([str(bundle)], LOCAL)
    ((path, (error,)),) = errors(report).items()
    assert path == "bundle.tgz!/logs/bad.log"
    assert "TypeError: no such kind" in error
    assert groups(report) == ["orders"]


@pytest.mark.parametrize("place", [(record_builder.Recorder, "_parsed"), (Catalog, "match")], ids=["layout", "catalog"])
def test_a_record_that_cannot_be_read_is_named_by_its_byte_and_the_others_are_read(
    two_logs: Path, breaks: Break, place: tuple[object, str]
) -> None:
    breaks(*place, "c-1-77aa in group payments has failed")
    report = analyze([str(two_logs)], LOCAL)
    ((path, (error,)),) = errors(report).items()
    byte = SHORT_LOG.index("[2026-03-01 10:05:00,000]")
    assert (path, error.startswith(f"the record at byte {byte:,} could not be read: LookupError")) == ("bad.log", True)
    assert groups(report) == ["orders", "payments"]
    assert {one.group for one in report.incidents} == {"orders", "payments"}


def test_many_records_that_one_defect_spoils_are_one_sentence(two_logs: Path, breaks: Break) -> None:
    breaks(Catalog, "match", "payments")
    ((error,),) = errors(analyze([str(two_logs)], LOCAL)).values()
    assert error.startswith("the record at byte 0 and 5 more could not be read: ")


def test_a_file_whose_reading_breaks_off_keeps_what_came_before(
    two_logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = BulkFramer._hit_records  # noqa: SLF001 - the step that breaks off

    def hit_records(framer: BulkFramer, *rest: Any) -> Iterator[Any]:  # noqa: ANN401
        for each in whole(framer, *rest):
            if each.number == 4 and "payments" in each.text():
                raise AssertionError
            yield each

    monkeypatch.setattr(BulkFramer, "_hit_records", hit_records)
    report = analyze([str(two_logs)], LOCAL)
    ((error,),) = errors(report).values()
    byte = SHORT_LOG.index("[2026-03-01 10:00:03,050]")
    assert error.startswith(f"reading stopped behind the record at byte {byte:,}: AssertionError (")
    assert [one.matched for one in report.inputs] == [3, 6]


def analyzed(root: Path) -> tuple[Analysis, Report]:
    analysis = analyze_with_events([str(root)], LOCAL, keep_events=False)
    return analysis, analysis.report


def test_a_group_that_cannot_be_investigated_is_a_gap_and_the_others_are_reported(
    two_logs: Path, breaks: Break
) -> None:
    breaks(stages, "investigate", "'payments'")
    analysis, report = analyzed(two_logs)
    assert groups(report) == ["orders"]
    (error,) = owed(report)
    assert re.fullmatch(
        rf"group payments \(default\) could not be investigated: LookupError: no such case {FRAME}", error
    )
    assert [failure.group for failure in analysis.failures] == ["payments"]


def test_lines_without_a_group_that_cannot_be_used_leave_the_groups(two_logs: Path, breaks: Break) -> None:
    (two_logs / "server.log").write_text(
        "[2026-03-01 09:59:00,000] INFO Kafka version: 3.7.0 (org.apache.kafka.common.utils.AppInfoParser)\n"
    )
    breaks(stages, "UngroupedEvents", "VersionReported")
    _, report = analyzed(two_logs)
    assert groups(report) == ["orders", "payments"]
    assert [told.partition(":")[0] for told in owed(report)] == [
        "The lines of default that name no group could not be used"
    ]


def test_a_rule_that_breaks_off_is_owed(two_logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    causes = causes_but_for("slow-processing")
    monkeypatch.setattr("rebalance_forensics.diagnosis.engine.discovery.all_causes", lambda: causes)
    _, report = analyzed(two_logs)
    assert len(owed(report)) == 2
    assert "LookupError" in owed(report)[0]


def test_a_failure_to_relate_groups_is_a_gap_and_each_group_is_reported_separately(
    two_logs: Path, breaks: Break
) -> None:
    breaks(incidents, "relations_among", "payments")
    _, report = analyzed(two_logs)
    assert groups(report) == ["orders", "payments"]
    assert owed(report)[0].startswith("What the incidents of different groups have in common could not be determined: ")


def test_logs_that_a_defect_hides_are_not_called_logs_without_kafka(two_logs: Path, breaks: Break) -> None:
    (two_logs / "good.log").unlink()
    breaks(profile, "sample_of", "bad.log")
    with pytest.raises(DefectError, match="its layout could not be determined"):
        analyze([str(two_logs)], LOCAL)


@pytest.mark.parametrize("place", [(profile, "sample_of"), (Catalog, "match"), (stages, "investigate")])
def test_want_of_memory_is_no_defect(two_logs: Path, breaks: Break, place: tuple[object, str]) -> None:
    breaks(*place, "", MemoryError())
    with pytest.raises(MemoryError):
        analyze([str(two_logs)], LOCAL)
