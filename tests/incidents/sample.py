"""The sample incidents with what is known about them, and the report of each, made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report
from tests.conftest import SAMPLES

LOCAL = AnalyzeOptions(engine="local")


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What incident.yaml says must be found; `generations` None where their number is of no interest."""

    group: str
    cause: str
    culprits: tuple[str, ...]
    severity: str
    generations: tuple[int, ...] | None
    followups: tuple[str, ...]
    evidence: tuple[str, ...]
    healthy: tuple[str, ...]
    also: tuple[str, ...]
    brokers: tuple[str, ...] | None
    clients: tuple[str, ...] | None
    """Causes that are right where only this side's logs are given; None where that cannot be had apart."""
    other_clients: tuple[Mapping[str, Any], ...] = field(hash=False)
    """`clients` (or all) whose logs never show what decides, the `view` (or both), and of which they are `sure_of`."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One folder of sample_logs/."""

    folder: Path
    story: str
    kafka: str
    synthetic: bool
    expected: Expected

    def incidents(self) -> list[Incident]:
        """What the report says of the group in question."""
        return [i for i in report_of(self.folder).incidents if i.group == self.expected.group]

    def found(self) -> list[Incident]:
        """Its incidents under the expected cause."""
        return [i for i in self.incidents() if i.root_causes[0].cause == self.expected.cause]


def read_sample(folder: Path) -> Sample:
    """A folder with its incident.yaml; an unknown or missing key is refused."""
    declared = yaml.safe_load((folder / "incident.yaml").read_text())
    expected: dict[str, Any] = {
        "generations": None,
        "brokers": None,
        "clients": None,
        "other_clients": (),
    } | declared.pop("expected")
    lists: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in expected.items()}
    return Sample(folder=folder, expected=Expected(**lists), **declared)


def all_samples() -> list[Sample]:
    """Every sample there is, by name: nothing to register."""
    return [read_sample(path.parent) for path in sorted(SAMPLES.glob("*/incident.yaml"))]


@cache
def report_of(folder: Path) -> Report:
    """The report of one sample."""
    return analyze([str(folder)], LOCAL)
