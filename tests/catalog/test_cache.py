from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.catalog.matcher import Catalog

PATTERN = """\
event: GroupDied
meaning: A group of ours died.
templates:
  - text: "Our fork buried group {group:id}"
    logged_by: Fork.java
samples:
  - name: buried
    message: "Our fork buried group payments"
    fields: {group: payments}
rejects:
  - name: praised
    message: "Our fork praised group payments"
"""
MESSAGE = "Our fork buried group payments"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rebalance-forensics"


@pytest.fixture
def own_patterns(tmp_path: Path) -> Path:
    """A user's own patterns."""
    (tmp_path / "mine" / "broker").mkdir(parents=True)
    (tmp_path / "mine" / "broker" / "buried.yaml").write_text(PATTERN)
    return tmp_path / "mine"


def test_a_catalog_from_the_cache_answers_as_the_one_just_compiled(cache: Path, own_patterns: Path) -> None:
    first = Catalog.load([own_patterns])
    assert [path.name.partition("-")[0] for path in cache.iterdir()] == ["catalog"]
    assert Catalog.load([own_patterns]).match(MESSAGE) == first.match(MESSAGE) is not None


def test_a_changed_pattern_is_read_again(cache: Path, own_patterns: Path) -> None:
    Catalog.load([own_patterns])
    pattern = own_patterns / "broker" / "buried.yaml"
    pattern.write_text(PATTERN.replace("buried", "entombed"))
    catalog = Catalog.load([own_patterns])
    assert catalog.match(MESSAGE) is None
    assert catalog.match("Our fork entombed group payments") is not None
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("content", ["", "{", "[]", '{"entries": [[1]]}'])
def test_a_damaged_cache_is_rebuilt(cache: Path, own_patterns: Path, content: str) -> None:
    Catalog.load([own_patterns])
    for path in cache.iterdir():
        path.write_text(content)
    assert Catalog.load([own_patterns]).match(MESSAGE) is not None


def test_without_a_writable_cache_everything_works(
    tmp_path: Path, own_patterns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    catalog = Catalog.load([own_patterns])
    assert catalog.match(MESSAGE) is not None
    assert catalog.prefilter().hits(MESSAGE.encode())
