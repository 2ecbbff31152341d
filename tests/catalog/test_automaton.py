"""Programs run without backtracking fill the groups that a backtracking engine fills."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from rebalance_forensics.catalog.compiled_catalog import compile_entry, type_names
from rebalance_forensics.catalog.field_types import TYPES
from rebalance_forensics.catalog.loader import load_all, pattern_files, shipped_patterns
from rebalance_forensics.catalog.prefixes import peel
from rebalance_forensics.catalog.program import Automaton, Program, compile_parts
from rebalance_forensics.catalog.template import parse


def a_program(text: str) -> Program:
    return compile_parts(parse(text), TYPES, {})


def test_every_sample_reads_alike_on_both_engines() -> None:
    loaded = load_all(pattern_files([shipped_patterns()]))
    types = type_names((str(p.fragment) for p in loaded.patterns if p.fragment), loaded.errors)
    compared = 0
    for pattern in (p for p in loaded.patterns if p.event or p.fragment):
        messages = {form for sample in pattern.samples for form in (sample.message, peel(sample.message).bare)}
        for template in pattern.templates:
            source = compile_entry(pattern, template, types).program.source
            backtracking, automaton = regex.compile(source), Automaton(source)
            for message in messages:
                match = backtracking.fullmatch(message)
                assert automaton.fullmatch(message) == (match.groups() if match else None), (pattern.id, message)
                compared += match is not None
    assert compared > 500


TWO = [
    (regex.compile(source), Automaton(source))
    for source in (
        a_program("x: {a:id} [[in {b:list}\n]]{c:text}:{d:line?}").source,
        a_program("x: {a:partitions}\n\ty: {b:word} {c:option?}{d:rest}").source,
    )
]


@given(st.text(alphabet=" \t\n\x0b\x1f\x85\xa0\u2003aB9:[]{},=-\u00e9\ud800", max_size=30))
def test_any_text_reads_alike_on_both_engines(text: str) -> None:
    for backtracking, automaton in TWO:
        for message in (f"x: {text}", f"x: a\n\ty:{text}", f"x: a in [{text}]\nb:c"):
            match = backtracking.fullmatch(message)
            assert automaton.fullmatch(message) == (match.groups() if match else None)


@pytest.mark.parametrize("length", [500, 100_000])
def test_a_pattern_of_many_holes_gives_up_on_a_hostile_line(length: int) -> None:
    """With backtracking this is 500 over 12 tries, and the run hangs here."""
    program = a_program("moved " + " ".join(f"{{h{n}:text}}" for n in range(12)) + " at last")
    assert program.read("moved " + "x " * (length // 2 - 8) + "x", TYPES) is None


def test_a_long_line_is_read_however_busy_the_machine_is() -> None:
    """A line that took the program more than two seconds counted as unknown, and the next run knew it."""
    program = a_program("left {a:text}of{b:id}at for good")
    fields = program.read("left " + "of" * 60_000 + " ofzat for good", TYPES)
    assert fields is not None
    assert fields["b"] == "z"
