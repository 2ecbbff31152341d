"""What a file shows by itself is kept in the ledger, and opened again where another release kept it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.inputs.sights import Sight, shown, sight_of
from rebalance_forensics.sources.files.walk import discover
from rebalance_forensics.sources.profiles.profile import look
from tests.conftest import SAMPLES


def cells(text: str | None, sight: Sight) -> dict[str, object]:
    ((head_bytes, head),) = sight.heads.items()
    file = sight.file
    return {
        "shows": text, "path": file.path, "size": file.size, "head_bytes": head_bytes, "head": head,
        "etag": sight.etag, "fingerprint": sight.fingerprint,
    }  # fmt: skip


@pytest.fixture
def sight() -> Sight:
    (file,) = discover([str(Path(SAMPLES) / "process-crash" / "broker-1" / "server.log")]).files
    return Sight(file=file, look=look(file), heads={4096: "c0ffee"}, etag="7", fingerprint="f", release="3.9.1")


def test_a_sight_comes_back_from_its_cell(sight: Sight) -> None:
    assert sight_of(cells(shown(sight), sight), sight.file.location) == sight


@pytest.mark.parametrize("text", [None, "", '{"by":"0.0.1","look":17}', "{}", "["])
def test_what_another_release_kept_is_looked_at_again(text: str | None, sight: Sight) -> None:
    assert sight_of(cells(text, sight)) is None


def test_a_cell_of_another_release_in_the_same_shape_is_ignored(sight: Sight) -> None:
    other = shown(sight).replace('"by":"', '"by":"9')
    assert sight_of(cells(other, sight)) is None
