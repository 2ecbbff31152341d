"""Explains a cause: how it happens, its signs, what to do, which settings and KIPs matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from rich.console import RenderableType

from rebalance_forensics.report.terminal.rich_blocks import heading, indented, listed, printed, text_block

USUALLY = {"fault": "Usually a fault.", "planned": "Usually planned.", "benign": "Usually benign."}


class Explanation(Struct, frozen=True, kw_only=True):
    """The texts that explain a cause; each may have several paragraphs, separated by an empty line."""

    cause: str
    usual: str = "unknown"
    summary: str
    mechanism: str = ""
    evidence: str = ""
    remedy: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    """Kafka setting -> its role here."""
    references: tuple[str, ...] = ()
    """KIPs and issues, each with its title."""
    where: str = ""
    """Where they can be read."""
    neighbours: tuple[tuple[str, str], ...] = ()
    """Similar cause -> how to distinguish them."""
    causes: tuple[tuple[str, str], ...] = ()
    """Cause that a setting, a KIP, a bug or an error code belongs to -> what it is."""


def render_explain(explanation: Explanation, *, width: int = 80, color: bool = False) -> str:
    """Render an explanation."""
    return printed(_blocks(explanation), width=width, color=color)


def _blocks(explanation: Explanation) -> Iterator[RenderableType]:
    yield text_block(explanation.cause, "bold")
    yield text_block(f"{explanation.summary} {USUALLY.get(explanation.usual, '')}".rstrip())
    sections = (
        ("How it happens", _paragraphs(explanation.mechanism)),
        ("How it shows", _paragraphs(explanation.evidence)),
        ("What to do", _paragraphs(explanation.remedy)),
        ("Root causes with it", _described(explanation.causes)),
        ("Settings that matter", _described(explanation.settings)),
        ("Not to be confused with", _described(explanation.neighbours)),
    )
    for title, section in sections:
        if blocks := list(section):
            yield heading(title)
            yield from map(indented, blocks)
    if explanation.references:
        yield heading("Read on")
        yield indented(listed(explanation.references))
        if explanation.where:
            yield indented(explanation.where)


def _described(pairs: Iterable[tuple[str, str]]) -> Iterator[RenderableType]:
    # Each name on its own line, since some are long, with its meaning below.
    for name, meaning in pairs:
        yield text_block(name, "bold")
        yield indented(meaning)


def _paragraphs(text: str) -> Iterator[str]:
    for index, paragraph in enumerate(text.strip().split("\n\n") if text else ()):
        if index:
            yield ""
        lines = [line.strip() for line in paragraph.splitlines()]
        # A list keeps its lines; prose is rewrapped for the width.
        yield from lines if any(line.startswith(("- ", "1.")) for line in lines) else [" ".join(lines)]
