"""Shows what was read from each file, and which lines no pattern matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.report.terminal.rich_blocks import columns, indented, labelled, printed, text_block
from rebalance_forensics.report.times import duration, utc
from rebalance_forensics.report.wording import count, lines_of_inputs, thousands, totals_of_inputs

WIDE = 110
AT_LEAST = ">="


def render_coverage(inputs: Sequence[InputSummary], *, width: int = 80, color: bool = False) -> str:
    """Show for each file how it was read and how many lines were recognized."""
    table = _table(inputs) if width >= WIDE else _cards(inputs)
    return printed([*table, text_block(""), *coverage_summary(inputs, every_file=False)], width=width, color=color)


def coverage_summary(inputs: Sequence[InputSummary], *, every_file: bool) -> Iterator[RenderableType]:
    """Summarize what was read; name each file that could not be read completely."""
    yield indented(totals_of_inputs(inputs))
    if releases := _versions(inputs):
        yield indented(releases)
    for log in inputs:
        for error in log.errors:
            yield indented(text_block(f"{log.path}: {error}", "yellow"))
    if every_file:
        yield text_block("")
        yield from (indented(card) for card in _cards(inputs))


def _versions(inputs: Sequence[InputSummary]) -> str:
    # Releases that a line names, apart from those that only the wording of lines sets a lower bound to.
    found = sorted({log.kafka_version for log in inputs if log.kafka_version})
    named = [version for version in found if not version.startswith(AT_LEAST)]
    files = [log for log in inputs if (log.kafka_version or "").startswith(AT_LEAST)]
    bounds = sorted({(log.kafka_version or "").removeprefix(AT_LEAST) for log in files})
    words = [f"Kafka {', '.join(named)}"] if named else []
    if bounds:
        words.append(f"{count(len(files), 'file')} of {'Kafka ' if not named else ''}{', '.join(bounds)} or later")
    return f"{'; '.join(words)}." if words else ""


def _table(inputs: Sequence[InputSummary]) -> Iterator[RenderableType]:
    titles = (
        "file",
        "layout",
        "component",
        "kafka",
        "host",
        "zone",
        "lines",
        "records",
        "recognized",
        "unknown",
        "other",
    )
    rows = [
        (
            log.path,
            _layout(log),
            log.component or "-",
            log.kafka_version or "-",
            log.host or "-",
            _clock(log),
            thousands(log.lines),
            thousands(log.records),
            thousands(log.matched),
            thousands(log.unmatched_kafka),
            thousands(max(0, log.records - log.matched - log.unmatched_kafka)),
        )
        for log in inputs
    ]
    yield columns(titles, rows, numbers=frozenset({6, 7, 8, 9, 10}))


def _cards(inputs: Sequence[InputSummary]) -> Iterator[RenderableType]:
    for log in inputs:
        yield text_block(log.path, "bold")
        yield indented(labelled(_facts(log)))


def _facts(log: InputSummary) -> Iterator[tuple[str, str]]:
    who = ", ".join(part for part in (log.component, f"Kafka {log.kafka_version}" if log.kafka_version else "") if part)
    yield "layout", _layout(log)
    yield "from", f"{who or 'unknown component'} on {log.host or 'an unknown host'}, zone {_clock(log)}"
    if log.first is not None:
        yield "times", f"{utc(log.first)} to {utc(log.last)} UTC"
    yield "read", lines_of_inputs([log])


def _layout(log: InputSummary) -> str:
    layout = log.layout or "unknown layout"
    return f"{layout} in {log.envelope}" if log.envelope not in (None, "", "none") else layout


def _clock(log: InputSummary) -> str:
    zone = log.zone or "unknown"
    if not log.clock_skew_ms:
        return zone
    direction = "ahead" if log.clock_skew_ms > 0 else "behind"
    return f"{zone}, clock {duration(abs(log.clock_skew_ms))} {direction}"
