"""A few hundred damaged inputs of a fixed seed break no law; `python -m benchmarks.fuzz` does the long run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz import batches, chunks, laws, reduction
from benchmarks.fuzz.cases import keep, kept
from benchmarks.fuzz.inputs import KINDS, input_of
from benchmarks.fuzz.model import Find, Input
from benchmarks.fuzz.snippets import workplace
from benchmarks.fuzz.summary import summary
from benchmarks.fuzz.workers import done_before
from rebalance_forensics.pipeline import local_engine
from rebalance_forensics.pipeline.read_split import read_split
from rebalance_forensics.pipeline.schemas import rows_of
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from rebalance_forensics.sources.records.splits import Split
from tests.conftest import SHORT_LOG

SEED = 7
LINES = {"broker-1/server.log": SHORT_LOG.encode()}


@pytest.mark.parametrize(("chunk", "kinds"), [(0, ("bytes", "lines", "fields", "times")), (1, tuple(KINDS))])
def test_damaged_inputs_break_no_law(chunk: int, kinds: tuple[str, ...]) -> None:
    done = chunks.run(SEED, chunk, kinds, size=100, backstop=False)
    assert done.kinds.total() == 100
    assert [(find["number"], find["law"], find["sign"]) for find in done.finds] == []


def test_damaged_tables_break_no_run() -> None:
    done = chunks.run(SEED, 0, ("tables",), backstop=False)
    assert done.kinds == {"tables": 1}
    assert [(find["law"], find["sign"]) for find in done.finds] == []


def test_an_input_can_be_made_again_from_its_number() -> None:
    assert [input_of(SEED, number) for number in range(40)] == [input_of(SEED, number) for number in range(40)]
    assert len({repr(input_of(SEED, number).files) for number in range(40)}) > 30


def plain(data: bytes) -> Input:
    return Input(kind="bytes", files={"broker-1/server.log": data}, done=())


def test_an_exception_that_ends_a_run_is_traced_to_one_input(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_split

    def breaks(split: Split, *rest: Any) -> object:  # noqa: ANN401
        if b"POISON" in Path(split.file.location).read_bytes():
            raise ArithmeticError("a mistake of ours")
        return whole(split, *rest)

    monkeypatch.setattr(local_engine, "read_split", breaks)
    good = {number: plain(SHORT_LOG.encode()) for number in range(5)}
    found = batches.finds(good | {3: plain(b"POISON\n" + SHORT_LOG.encode())})
    assert {number: [find.law for find in detail] for number, detail in found.items()} == {
        3: ["an exception ended the run"]
    }


def test_a_mistake_that_was_isolated_is_a_find_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> object:
        raise ArithmeticError("a mistake of ours")

    batches.alone("untouched-broker")
    monkeypatch.setattr("rebalance_forensics.diagnosis.case.build", breaks)
    found = batches.finds({0: plain(SHORT_LOG.encode())})
    assert "a group could not be investigated" in {find.law for find in found[0]}


def test_a_text_that_is_in_no_file_is_a_finding() -> None:
    with workplace() as place:
        batches.write(LINES, {}, Path(place) / "i0")
        rows = [row for batch in batches.analyzed(Path(place)).events.to_batches() for row in rows_of(batch)]
    assert rows
    assert not any(laws.in_place(row, SHORT_LOG.encode()) for row in rows)
    assert any(laws.in_place(row, SHORT_LOG.encode().replace(b"payments", b"others")) for row in rows)


def test_calls_beyond_the_bound_are_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.fuzz.snippets.CALLS_AT_LEAST", 10)
    monkeypatch.setattr("benchmarks.fuzz.snippets.CALLS_A_BYTE", 0)
    found = batches.finds({0: plain(SHORT_LOG.encode())}, watched=True)
    assert "work is bounded" in {find.law for find in found[0]}


def test_a_neighbor_that_changes_the_report_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    report = json.loads(to_json(analysis := _report_of_two()))
    assert analysis.groups
    one = laws.part_of(report, "i0")
    assert one["groups"]
    assert one != laws.part_of(report, "i1")
    monkeypatch.setattr(batches, "kept_alone", lambda: "something else")
    shared = replace(input_of(SEED, 0, ("neighbours",)), kept="shared log")
    assert "another group's lines change nothing" in {find.law for find in batches.finds({0: shared})[0]}


def _report_of_two() -> Report:
    with workplace() as place:
        for name in ("i0", "i1"):
            batches.write(LINES, {}, Path(place) / name)
        return batches.analyzed(Path(place)).report


def test_a_case_is_made_smaller_and_survives_being_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def too_red(one: Input) -> list[Find]:
        return [Find(law="nothing is red", sign="red", detail="")] if b"red" in b"".join(one.files.values()) else []

    monkeypatch.setattr(reduction, "finds", too_red)
    data = b"".join(b"line %d\n" % number for number in range(50)) + b"\xff red \x00\n"
    smaller = reduction.reduced(plain(data), "red")
    assert b"red" in (left := smaller.files["broker-1/server.log"])
    assert len(left) < 12
    keep(too_red(smaller)[0], smaller, "seed 1", tmp_path)
    assert [case.input.files for case in kept(tmp_path)] == [dict(smaller.files)]


def test_a_long_run_resumes_and_adds_up(tmp_path: Path) -> None:
    done = chunks.Done(4)
    done.kinds["bytes"] = 1000
    done.note(4001, "bytes", [Find(law="a law", sign="a sign", detail="")])
    file = tmp_path / "1.jsonl"
    file.write_text(f'{done.text()}\n{{"chunk": 5, "kin')
    assert [detail["chunk"] for detail in done_before(file)] == [4]
    assert re.search(r"\| a law \| a sign \| 1 \| 4001 \|", summary(1, done_before(file)))
