"""Writes HTML reports next to the tables: one page for each incident, and an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment

from rebalance_forensics import defects
from rebalance_forensics.diagnosis.model import Headline
from rebalance_forensics.job.alerts import report_of
from rebalance_forensics.job.lake.editions import edition_of
from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.layout import EVERY_CLUSTER, directory_of, partition_of
from rebalance_forensics.job.steps.findings import DatedIncident, Incidents
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import INCIDENTS
from rebalance_forensics.report.html import to_html

REPORTS = "reports"
_INDEX = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Incidents of consumer groups</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark }
td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top }</style>
<h1>Incidents of consumer groups</h1>
<table>
<thead><tr><th>Started<th>Severity<th>Cluster<th>Group<th>Cause<th>Summary</thead>
<tbody>
{% for row in rows %}<tr><td><a href="{{ row.href }}">{{ row.started }}</a><td>{{ row.severity }}<td>{{ row.cluster }}\
<td>{{ row.group }}<td>{{ row.cause }}<td>{{ row.summary }}
{% endfor %}</tbody>
</table>
"""


def write_reports(store: Store, found: Incidents, severities: Sequence[str]) -> list[str]:
    """Write one page for each incident of these severities; returns a sentence for each defect of ours."""
    spoiled: list[str] = []
    days = sorted({day for day, _ in found.headlines})
    there = {file.path for day in days for file in store.files(f"{REPORTS}/date={date_text(day)}")}
    for place in there.intersection(_path(*each) for each in found.headlines if each[1].severity not in severities):
        store.delete(place)
    for each in found.whole(severities):
        try:
            page = to_html(report_of(each))
        except Exception as error:  # noqa: BLE001 - whatever it was, the other pages are written
            spoiled.append(defects.sentence(f"the page of incident {each.incident.id} could not be written", error))
            continue
        store.write(_path(each.day, each.incident), page.encode("utf-8", "backslashreplace"))
    return spoiled


def addresses_of_pages(base: str, severities: Sequence[str]) -> Callable[[DatedIncident], str | None]:
    """A function for the address of an incident's page, None if it has none, below the address of the reports."""

    def address(dated: DatedIncident) -> str | None:
        if dated.incident.severity not in severities:
            return None
        return f"{base.rstrip('/')}/{quote(_path(dated.day, dated.incident).removeprefix(f'{REPORTS}/'), safe='/=')}"

    return address


def _path(day: int, incident: Headline) -> str:
    return f"{directory_of(REPORTS, day, incident.cluster)}/{incident.id}.html"


def write_index(store: Store) -> None:
    """Write the index of all pages, newest first; pages of incidents that are no longer in the tables are deleted."""
    pages = {file.path: partition_of(file.path) for file in store.files(REPORTS) if file.path.count("/") > 1}
    days = {known[1] for known in pages.values() if known}
    rows = {
        f"{directory_of(REPORTS, *partition)}/{row['id']}.html": row
        for partition, row in edition_of(store).rows(INCIDENTS, days, EVERY_CLUSTER)
    }
    for path in pages.keys() - rows.keys():
        store.delete(path)
    listed = [_listed(path, rows[path]) for path in pages if path in rows]
    listed.sort(key=lambda row: (row["started"], row["href"]), reverse=True)
    page = Environment(autoescape=True).from_string(_INDEX).render(rows=listed)
    store.write(f"{REPORTS}/index.html", page.encode("utf-8", "backslashreplace"))


def _listed(path: str, row: dict[str, Any]) -> dict[str, str]:
    started = row["started_at"].strftime("%Y-%m-%d %H:%M:%S")
    cluster = unquote(path.split("/")[2].removeprefix("cluster="))
    labels = {name: str(row[name] or "several") for name in ("severity", "group", "cause", "summary")}
    # Escapes in a directory name have to be escaped in URLs.
    return {
        **labels,
        "href": path.removeprefix(f"{REPORTS}/").replace("%", "%25"),
        "started": started,
        "cluster": cluster,
    }
