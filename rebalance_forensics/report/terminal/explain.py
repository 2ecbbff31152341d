"""What a cause is: how it comes about, how it shows, what to do, which settings and KIPs matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType

from rebalance_forensics.report.terminal.paper import heading, indented, labelled, listed, printed, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The texts that teach one cause; each may have several paragraphs, parted by an empty line."""

    cause: str
    summary: str
    mechanism: str
    evidence: str = ""
    remedy: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    """Kafka's own setting -> what it does here."""
    references: tuple[str, ...] = ()
    """KIPs and issues, each with its title."""
    neighbours: tuple[tuple[str, str], ...] = ()
    """A cause that looks alike -> how to tell them apart."""


def render_explain(explanation: Explanation, *, width: int = 80, color: bool = False) -> str:
    """Lay one explanation out."""
    return printed(_blocks(explanation), width=width, color=color)


def _blocks(explanation: Explanation) -> Iterator[RenderableType]:
    yield said(explanation.cause, "bold")
    yield said(explanation.summary)
    sections = (
        ("How it comes about", explanation.mechanism),
        ("How it shows", explanation.evidence),
        ("What to do", explanation.remedy),
    )
    for title, text in sections:
        if text:
            yield heading(title)
            yield from (indented(block) for block in _paragraphs(text))
    if explanation.settings:
        yield heading("Settings that matter")
        yield indented(labelled(explanation.settings))
    if explanation.neighbours:
        yield heading("Not to be confused with")
        yield indented(labelled(explanation.neighbours))
    if explanation.references:
        yield heading("Read on")
        yield indented(listed(explanation.references))


def _paragraphs(text: str) -> Iterator[str]:
    for index, paragraph in enumerate(text.strip().split("\n\n")):
        if index:
            yield ""
        lines = [line.strip() for line in paragraph.splitlines()]
        # A list keeps its lines; prose is wrapped anew for the width at hand.
        yield from lines if any(line.startswith(("- ", "1.")) for line in lines) else [" ".join(lines)]
