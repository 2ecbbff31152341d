"""A page for every cause and follow-up: what `explain` teaches, and a real incident."""

from __future__ import annotations

from collections.abc import Iterator

from docs.site.markdown import code, page, table
from docs.site.recorded import Recorded
from rebalance_forensics.diagnosis.reference.glossary import WHERE, glossary

USUALLY = {"fault": "usually a fault", "planned": "usually planned", "benign": "usually benign"}


def pages(shown: Recorded) -> Iterator[tuple[str, str]]:
    """Path and text of each."""
    yield "causes/index.md", _index()
    for name in sorted(glossary().causes):
        yield f"causes/{name}.md", _cause(name, shown)
    for name in glossary().follow_ups:
        yield f"causes/follow-up-{name}.md", _follow_up(name)


def _index() -> str:
    causes = glossary().causes
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
            ((f"[{name}](follow-up-{name}.md)", topic.summary) for name, topic in glossary().follow_ups.items()),
        ),
    )


def _cause(name: str, shown: Recorded) -> str:
    cause = glossary().causes[name]
    lookalikes = [(f"[{other}]({other}.md)", difference) for other, difference in glossary().neighbours_of(name)]
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
    follow_up = glossary().follow_ups[name]
    return page(
        f"# {name} (a follow-up)",
        follow_up.summary,
        "## How it happens\n\n" + follow_up.mechanism,
        "## What to do\n\n" + follow_up.remedy,
        _settings(follow_up.settings),
        _kips(follow_up.kips),
    )


def _settings(names: tuple[str, ...]) -> str:
    rows = table(("setting", "what it does here"), ((code(name), glossary().settings[name]) for name in names))
    return f"## Settings that matter\n\n{rows}" if rows else ""


def _kips(names: tuple[str, ...]) -> str:
    listed = "\n".join(f"- {name}: {glossary().kips[name]}" for name in names)
    return f"## Read on\n\n{listed}\n\nEach of them is listed on [Kafka's wiki]({WHERE})." if listed else ""


def _usually(usual: str) -> str:
    return USUALLY.get(usual, "a fault or planned")
