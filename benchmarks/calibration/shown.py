"""The logs of an incident in one view, and with a log added that the report asks for."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.calibration.cuts import CUTS, cut_down
from benchmarks.calibration.labels import Label, View
from rebalance_forensics.pipeline.options import AnalyzeOptions, Instant
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report

_OF_A_BROKER = re.compile(r"server\.log")
_OF_ANY_CLIENT = re.compile(r"the group's clients|[Nn]o log of any client")
_CUT_SHORT: Mapping[str, frozenset[View]] = {
    "earlier": frozenset({"tail", "begins-late", "grep"}),
    "later": frozenset({"ends-early", "grep"}),
}
"""Word in a request -> the views whose uncut logs have such lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The logs to analyze, a directory for each host, and the time window in which they are read."""

    hosts: Mapping[str, Path]
    since: Instant | None = None
    until: Instant | None = None

    def report(self) -> Report:
        """The report on these logs."""
        options = AnalyzeOptions(engine="local", since=self.since, until=self.until)
        return analyze([str(self.hosts[host]) for host in sorted(self.hosts)], options)


@contextmanager
def shown(label: Label, view: View) -> Iterator[Shown | None]:
    """The logs in this view; None if they cannot be cut, such as compressed files."""
    with tempfile.TemporaryDirectory() as scratch:
        if view not in CUTS:
            since, until = label.window(view)
            yield Shown(hosts={Path(log).name: Path(log) for log in label.logs(view)}, since=since, until=until)
            return
        hosts, into = label.folder / "logs", Path(scratch)
        changed = cut_down(view, hosts, into, group=label.group, brokers=label.brokers, name=label.name)
        yield Shown(hosts={host.name: host for host in into.iterdir()}) if changed else None


def with_log(logs: Shown, label: Label, view: View, words: str, who: str | None) -> Shown:
    """The logs with the uncut log added that a report asks for; unchanged if the incident has no such log.

    A request for a member adds its host, one for the coordinator the named broker or all of them, one for earlier or
    later logs the uncut logs of this view.
    """
    longer = any(view in views and re.search(rf"\b{more}\b", words) for more, views in _CUT_SHORT.items())
    wanted = _brokers(label, words) | _clients(label, words, who) or (set(logs.hosts) if longer else set())
    uncut = {host: label.folder / "logs" / host for host in wanted}
    more = replace(logs, hosts={**logs.hosts, **{host: log for host, log in uncut.items() if log.exists()}})
    # A report asks for a log that it already has if a part of it is missing.
    return replace(more, since=None, until=None) if longer or wanted & set(logs.hosts) else more


def _brokers(label: Label, words: str) -> set[str]:
    if not _OF_A_BROKER.search(words):
        return set()
    named = {host for host in label.brokers if re.search(rf"\b{re.escape(host)}\b", words)}
    return named or set(label.brokers)


def _clients(label: Label, words: str, who: str | None) -> set[str]:
    """The hosts that the request names, also by client id or member id; otherwise those whose logs contain `who`."""
    if _OF_ANY_CLIENT.search(words):
        return {host for host in label.clients if label.group in _text(label.folder / "logs" / host)}
    named = {host for host, client in label.clients.items() if _names(words, host) or _names(words, client)}
    if named or who is None or who in label.brokers:
        return named
    return {host for host in label.clients if who in _text(label.folder / "logs" / host)}


def _names(words: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.]|-\d+\b(?!-))", words) is not None


@cache
def _text(host: Path) -> str:
    files = sorted(path for path in host.rglob("*") if path.is_file())
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
