"""A page for every cause and follow-up: what `explain` teaches, and a real incident."""

from __future__ import annotations

from collections.abc import Iterator

from docs.site.markdown import code, page, table
from docs.site.recorded import Recorded
from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.diagnosis.reference.glossary import FOLLOW_UPS, KIPS, SETTINGS, WHERE, neighbours_of

USUALLY = {"fault": "usually a fault", "planned": "usually planned", "benign": "usually benign"}


def pages(shown: Recorded) -> Iterator[tuple[str, str]]:
    """Path and text of each."""
    yield "causes/index.md", _index()
    for name in sorted(all_causes()):
        yield f"causes/{name}.md", _cause(name, shown)
    for name in FOLLOW_UPS:
        yield f"causes/follow-up-{name}.md", _follow_up(name)


def _index() -> str:
    causes = all_causes()
    return page(
        "# Why consumer groups rebalance",
        "Every cause that rebalance-forensics can name, and how it tells them apart.",
        table(
            ("cause", "what it is", "usually"),
            ((f"[{name}]({name}.md)", causes[name].summary, _usually(causes[name].usual)) for name in sorted(causes)),
        ),
        "## Follow-ups",
        "Rebalances that only follow from an earlier one:",
        table(
            ("follow-up", "what it is"),
            ((f"[{name}](follow-up-{name}.md)", told.summary) for name, told in FOLLOW_UPS.items()),
        ),
    )


def _cause(name: str, shown: Recorded) -> str:
    cause = all_causes()[name]
    lookalikes = [(f"[{other}]({other}.md)", difference) for other, difference in neighbours_of(name)]
    return page(
        f"# {name}",
        f"{cause.summary} {_usually(cause.usual).capitalize()}.",
        "## How it happens\n\n" + cause.mechanism,
        "## How it shows\n\n" + cause.shows if cause.shows else "",
        "## What to do\n\n" + cause.remedy if cause.remedy else "",
        _example(name, shown),
        _settings(cause.settings),
        "## Not to be confused with\n\n" + table(("cause", "how to tell"), lookalikes) if lookalikes else "",
        _kips(cause.kips),
    )


def _example(name: str, shown: Recorded) -> str:
    if name not in shown.reports:
        return ""
    return page(
        "## A real incident",
        "Recorded on a real cluster with an injected fault; the report as the tool writes it"
        f" ([on a page of its own](../reports/{name}.html){{target=_blank}}):",
        f'<iframe src="../../reports/{name}.html" title="Report on {name}" loading="lazy"'
        ' style="width:100%;height:40rem;border:1px solid var(--md-default-fg-color--lightest)"></iframe>',
        f"The logs are in `sample_logs/{name}`: `rebalance-forensics analyze sample_logs/{name}`.",
    ).rstrip()


def _follow_up(name: str) -> str:
    told = FOLLOW_UPS[name]
    return page(
        f"# {name} (a follow-up)",
        told.summary,
        "## How it happens\n\n" + told.mechanism,
        "## What to do\n\n" + told.remedy,
        _settings(told.settings),
        _kips(told.kips),
    )


def _settings(names: tuple[str, ...]) -> str:
    rows = table(("setting", "what it does here"), ((code(name), SETTINGS[name]) for name in names))
    return f"## Settings that matter\n\n{rows}" if rows else ""


def _kips(names: tuple[str, ...]) -> str:
    listed = "\n".join(f"- {name}: {KIPS[name]}" for name in names)
    return f"## Read on\n\n{listed}\n\nEach of them is listed on [Kafka's wiki]({WHERE})." if listed else ""


def _usually(usual: str) -> str:
    return USUALLY.get(usual, "a fault or planned")
