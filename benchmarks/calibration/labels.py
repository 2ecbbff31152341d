"""Labelled incidents: `truth.json` next to `logs/`, which has one directory per host."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from benchmarks.calibration.cuts import CUTS, Cut
from rebalance_forensics.pipeline.options import Instant
from rebalance_forensics.records import EpochMs

Side = Literal["all", "brokers", "clients"]
Half = Literal["one-client", "without-culprit", "some-hosts", "ends-early", "begins-late"]
View = Side | Half | Cut
Part = Literal["A", "B"]
SIDES: tuple[Side, ...] = ("all", "brokers", "clients")
HALVES: tuple[Half, ...] = ("one-client", "without-culprit", "some-hosts", "ends-early", "begins-late")
VIEWS: tuple[View, ...] = (*SIDES, *HALVES, *CUTS)
ROUND_TRIP_MS = 10_000
LOOKED_INTO = frozenset({
    "connect-config-churn-4.1", "connect-healthy-4.1", "connect-worker-lost-3.9", "group-max-size-3.9",
    "mixed-assignors-3.9", "process-pause-3.9", "process-pause-new-protocol-4.1", "rolling-restart-eager-3.9",
    "scale-in-3.9", "scaling-flap-3.9", "streams-crash-4.1", "streams-endpoint-change-3.9",
    "streams-rolling-restart-4.1", "streams-scale-in-2.8", "streams-version-probing-3.9",
})  # fmt: skip
"""Incidents that were examined to write a sign or to correct a weight, so that they no longer measure anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The truth about one labelled incident; `causes` are the real ones."""

    name: str
    folder: Path
    scenario: str
    group: str
    causes: frozenset[str]
    also: frozenset[str]
    indistinguishable: Mapping[str, frozenset[str]]
    """View -> causes that look like the real one in it."""
    healthy: frozenset[str]
    culprits: frozenset[str] | None
    """The culprits, each of which must be named; None if there is none or if all members are culprits."""
    from_ms: int
    to_ms: int
    views: frozenset[str]
    brokers: frozenset[str]
    clients: Mapping[str, str]
    """Host -> client id, without brokers."""

    @property
    def part(self) -> Part:
        """The part of the incidents: A if it was examined, otherwise by a hash of its name."""
        return "A" if self.name in LOOKED_INTO or sha256(self.name.encode()).digest()[0] % 2 == 0 else "B"

    def logs(self, view: View) -> Sequence[str]:
        """The directories of the hosts in this view; a hash of the name selects one client or some hosts."""
        hosts = sorted(p for p in (self.folder / "logs").iterdir())
        lot = crc32(self.name.encode())
        if view == "one-client":
            clients = [h for h in hosts if h.name not in self.brokers] or hosts
            return [str(clients[lot % len(clients)])]
        if view == "some-hosts":
            return [str(h) for h in hosts[lot % 2 :: 2]]
        if view == "without-culprit":
            return [str(h) for h in hosts if h.name not in self._hosts_to_blame()]
        whole = view not in ("brokers", "clients")
        return [str(h) for h in hosts if whole or (h.name in self.brokers) == (view == "brokers")]

    def _hosts_to_blame(self) -> set[str]:
        blamed = self.culprits or frozenset()
        return {host for host, client in self.clients.items() if blamed & {host, client}}

    def window(self, view: View) -> tuple[Instant | None, Instant | None]:
        """The time window of a view: from just before the incident, or up to the middle of it; None where unlimited."""
        if view == "begins-late":
            return Instant(at=EpochMs(self.from_ms)), None
        if view == "ends-early":
            return None, Instant(at=EpochMs((self.from_ms + self.to_ms) // 2))
        return None, None

    def shows(self, view: View) -> bool:
        """True if this label covers the view."""
        if view == "without-culprit" and not self._hosts_to_blame():
            return False
        return view in self.views or (view not in SIDES and self.views >= {*SIDES})


def labels_in(directory: Path) -> Iterator[Label]:
    """The labelled incidents of a directory, sorted by name."""
    for file in sorted(directory.glob("*/truth.json")):
        yield _label(file.parent, json.loads(file.read_text(encoding="utf-8")))


def _label(folder: Path, truth: dict[str, Any]) -> Label:
    expected = truth["expected"]
    told = expected["cause"] if isinstance(expected["cause"], list) else [expected["cause"]]
    slack = min(truth.get("max_skew_ms", 0), ROUND_TRIP_MS)
    return Label(
        name=folder.name,
        folder=folder,
        scenario=truth.get("scenario", folder.name),
        group=expected["group"],
        causes=frozenset(c for one in told for c in one.split("|")) - {"none"},
        also=frozenset(expected.get("also", ())),
        indistinguishable={view: _any_of(said) for view, said in expected.get("views", {}).items()},
        healthy=frozenset(expected.get("healthy", ())),
        culprits=_named(expected.get("culprit")),
        from_ms=truth["window"]["from"] - 3_000 - slack,
        to_ms=truth["window"]["to"] + 1_000 + slack,
        views=frozenset(truth.get("views", SIDES)),
        brokers=frozenset(name for name, host in truth["hosts"].items() if host["kind"] == "broker"),
        clients={n: h.get("client_id") or n for n, h in truth["hosts"].items() if h["kind"] != "broker"},
    )


def _any_of(said: str | Sequence[str] | None) -> frozenset[str]:
    several = [said] if isinstance(said, str) else said or ["unexplained"]
    return frozenset(cause for one in several for cause in one.split("|"))


def _named(culprit: str | Sequence[str] | None) -> frozenset[str] | None:
    if culprit is None or culprit in ("all", "all-brokers") or (isinstance(culprit, list) and None in culprit):
        return None
    return frozenset([culprit] if isinstance(culprit, str) else culprit)
