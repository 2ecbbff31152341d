"""What was read of each file, and what of it nobody understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from rebalance_forensics.report.input_totals import what_was_read
from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.report.terminal.rich_blocks import columns, indented, labelled, printed, said
from rebalance_forensics.report.times import duration, utc
from rebalance_forensics.report.wording import count, thousands

WIDE = 110
AT_LEAST = ">="


def render_coverage(inputs: Sequence[InputSummary], *, width: int = 80, color: bool = False) -> str:
    """Say per file how it was read and how many lines were understood."""
    table = _table(inputs) if width >= WIDE else _cards(inputs)
    return printed([*table, said(""), *coverage_summary(inputs, every_file=False)], width=width, color=color)


def coverage_summary(inputs: Sequence[InputSummary], *, every_file: bool) -> Iterator[RenderableType]:
    """Sum up what was read; name each file that could not be read whole."""
    yield indented(what_was_read(inputs))
    if told := _versions(inputs):
        yield indented(told)
    for one in inputs:
        for error in one.errors:
            yield indented(said(f"{one.path}: {error}", "yellow"))
    if every_file:
        yield said("")
        yield from (indented(card) for card in _cards(inputs))


def _versions(inputs: Sequence[InputSummary]) -> str:
    """Releases that a line names, apart from those that only the wording of lines sets a lower bound to."""
    found = sorted({one.kafka_version for one in inputs if one.kafka_version})
    named = [one for one in found if not one.startswith(AT_LEAST)]
    files = [one for one in inputs if (one.kafka_version or "").startswith(AT_LEAST)]
    bounds = sorted({(one.kafka_version or "").removeprefix(AT_LEAST) for one in files})
    words = [f"Kafka {', '.join(named)}"] if named else []
    if bounds:
        words.append(f"{count(len(files), 'file')} of {'Kafka ' if not named else ''}{', '.join(bounds)} or later")
    return f"{'; '.join(words)}." if words else ""


def _table(inputs: Sequence[InputSummary]) -> Iterator[RenderableType]:
    titles = ("file", "layout", "component", "kafka", "host", "zone", "lines", "matched", "unknown", "unparsed")
    rows = [
        (
            one.path,
            _layout(one),
            one.component or "-",
            one.kafka_version or "-",
            one.host or "-",
            _clock(one),
            thousands(one.lines),
            thousands(one.matched),
            thousands(one.unmatched_kafka),
            thousands(one.unparsed),
        )
        for one in inputs
    ]
    yield columns(titles, rows, numbers=frozenset({6, 7, 8, 9}))


def _cards(inputs: Sequence[InputSummary]) -> Iterator[RenderableType]:
    for one in inputs:
        yield said(one.path, "bold")
        yield indented(labelled(_facts(one)))


def _facts(one: InputSummary) -> Iterator[tuple[str, str]]:
    who = ", ".join(part for part in (one.component, f"Kafka {one.kafka_version}" if one.kafka_version else "") if part)
    yield "layout", _layout(one)
    yield "from", f"{who or 'unknown component'} on {one.host or 'an unknown host'}, zone {_clock(one)}"
    if one.first is not None:
        yield "times", f"{utc(one.first)} to {utc(one.last)} UTC"
    yield (
        "lines",
        (
            f"{thousands(one.lines)}, {thousands(one.matched)} matched, "
            f"{thousands(one.unmatched_kafka)} unknown, {thousands(one.unparsed)} unparsed"
        ),
    )


def _layout(one: InputSummary) -> str:
    layout = one.layout or "no known layout"
    return f"{layout} in {one.envelope}" if one.envelope not in (None, "", "none") else layout


def _clock(one: InputSummary) -> str:
    zone = one.zone or "unknown"
    if not one.clock_skew_ms:
        return zone
    direction = "ahead" if one.clock_skew_ms > 0 else "behind"
    return f"{zone}, clock {duration(abs(one.clock_skew_ms))} {direction}"
