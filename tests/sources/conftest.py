"""What reading files costs, counted where the work is done."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from rebalance_forensics.sources.files.budgets import Meter


class Work:
    """What was done, counted."""

    def __init__(self) -> None:
        self.unpacked = self.tables_of_contents = self.headers = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counts what passes through the places where the work is done."""
    done = Work()
    spend = Meter.spend

    def counted(self: Meter, unpacked: int, seconds: float = 0.0) -> None:
        done.unpacked += unpacked
        spend(self, unpacked, seconds)

    monkeypatch.setattr(Meter, "spend", counted)
    _count(monkeypatch, zipfile.ZipFile, "_RealGetContents", done, "tables_of_contents")
    _count(monkeypatch, tarfile.TarInfo, "_proc_member", done, "headers")
    return done


def _count(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, done: Work, what: str) -> None:
    real: Callable[..., Any] = getattr(owner, name)

    def counted(*given: Any) -> Any:  # noqa: ANN401 - whatever the real one takes
        setattr(done, what, getattr(done, what) + 1)
        return real(*given)

    monkeypatch.setattr(owner, name, counted)
