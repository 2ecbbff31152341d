"""However logs are packed, cut and dealt out, the report is the same but for the places of their lines."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.json_report import to_json
from tests.conftest import SAMPLES
from tests.properties.test_reports import groups_and_incidents

SAMPLE = SAMPLES / "authorization-failure"
FILES = {str(path.relative_to(SAMPLE)): path.read_bytes() for path in sorted(SAMPLE.rglob("*.log"))}
few = settings(max_examples=5, deadline=None, derandomize=True)

CODECS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, 1, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".zst": lambda data: zstandard.ZstdCompressor(level=1).compress(data),
    ".lz4": lz4.frame.compress,
}
codecs = st.sampled_from(sorted(CODECS))


def tarred(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


ARCHIVES: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {".tar": tarred, ".zip": zipped}


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return groups_and_incidents([SAMPLE])


def told_of(files: Mapping[str, bytes]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        for name, data in files.items():
            path = Path(directory) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return groups_and_incidents([Path(directory)])


@few
@given(chosen=st.lists(st.tuples(codecs, codecs), min_size=len(FILES), max_size=len(FILES)))
def test_files_tell_the_same_in_whatever_they_are_compressed(
    whole: dict[str, Any], chosen: list[tuple[str, str]]
) -> None:
    packed = {
        f"{name}{first}{second}": CODECS[second](CODECS[first](data))
        for (name, data), (first, second) in zip(FILES.items(), chosen, strict=True)
    }
    assert told_of(packed) == whole


@few
@given(
    inner=st.sampled_from(sorted(ARCHIVES)),
    outer=st.sampled_from([*sorted(ARCHIVES), ""]),
    codec=codecs,
    order=st.permutations(sorted(FILES)),
)
def test_an_archive_tells_what_its_files_tell(
    whole: dict[str, Any], inner: str, outer: str, codec: str, order: list[str]
) -> None:
    name, data = f"all{inner}", ARCHIVES[inner]({one: FILES[one] for one in order})
    if outer:
        name, data = f"bundle{outer}", ARCHIVES[outer]({f"sent/{name}": data})
    assert told_of({f"{name}{codec}": CODECS[codec](data)}) == whole


@few
@given(split_bytes=st.integers(500, 60_000))
def test_it_does_not_matter_where_files_are_cut_for_the_workers(split_bytes: int) -> None:
    at_once = analyze([str(SAMPLE)], AnalyzeOptions(engine="local"))
    in_parts = analyze([str(SAMPLE)], AnalyzeOptions(engine="local", split_bytes=split_bytes))
    assert to_json(in_parts) == to_json(at_once)
