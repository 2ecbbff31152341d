"""HTML reports beside the tables: one page an incident, one index of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment

from rebalance_forensics import defects
from rebalance_forensics.job.alerts import report_of
from rebalance_forensics.job.lake.journal import Journal
from rebalance_forensics.job.lake.layout import directory_of
from rebalance_forensics.job.lake.state import rows_in
from rebalance_forensics.job.run import DatedIncident
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


def add_reports(journal: Journal, dated: Iterable[DatedIncident], severities: Sequence[str]) -> list[str]:
    """One waiting page an incident of these severities; a sentence for each that a defect of ours spoiled."""
    spoiled: list[str] = []
    for each in (each for each in dated if each.incident.severity in severities):
        try:
            page = to_html(report_of(each))
        except Exception as error:  # noqa: BLE001 - whatever it was, the other pages are written
            spoiled.append(defects.sentence(f"the page of incident {each.incident.id} could not be written", error))
            continue
        journal.write(_path(each), page.encode("utf-8", "backslashreplace"))
    return spoiled


def addresses_of_pages(base: str, severities: Sequence[str]) -> Callable[[DatedIncident], str | None]:
    """Where the page of an incident is opened, if it has one: below the address under which the reports are served."""

    def address(dated: DatedIncident) -> str | None:
        if dated.incident.severity not in severities:
            return None
        return f"{base.rstrip('/')}/{quote(_path(dated).removeprefix(f'{REPORTS}/'), safe='/=')}"

    return address


def _path(dated: DatedIncident) -> str:
    return f"{directory_of(REPORTS, dated.day, dated.incident.cluster)}/{dated.incident.id}.html"


def write_index(store: Store) -> None:
    """The index of all pages that are there, the newest first."""
    pages = {file.path: file.path.rpartition("/")[0] for file in store.files(REPORTS) if file.path.count("/") > 1}
    tables = sorted({directory.replace(REPORTS, INCIDENTS.name, 1) for directory in pages.values()})
    files = [file.path for table in tables for file in store.files(table) if file.path.endswith(".parquet")]
    rows = {row["id"]: row for row in rows_in(store, files)}
    ids = {path: path.rpartition("/")[2].removesuffix(".html") for path in pages}
    listed = [_listed(path, rows[incident_id]) for path, incident_id in ids.items() if incident_id in rows]
    listed.sort(key=lambda row: (row["started"], row["href"]), reverse=True)
    page = Environment(autoescape=True).from_string(_INDEX).render(rows=listed)
    store.write(f"{REPORTS}/index.html", page.encode("utf-8", "backslashreplace"))


def _listed(path: str, row: dict[str, Any]) -> dict[str, str]:
    started = row["started_at"].strftime("%Y-%m-%d %H:%M:%S")
    cluster = unquote(path.split("/")[2].removeprefix("cluster="))
    labels = {name: str(row[name] or "several") for name in ("severity", "group", "cause", "summary")}
    # The escapes in a directory's name have to be escaped themselves to be asked for.
    return {
        **labels,
        "href": path.removeprefix(f"{REPORTS}/").replace("%", "%25"),
        "started": started,
        "cluster": cluster,
    }
