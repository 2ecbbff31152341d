from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.catalog.prefilter import Scan, scan_for
from rebalance_forensics.catalog.word_scan import WordScan
from tests.shipped import shipped

BOTH = [pytest.param(True, id="with Hyperscan"), pytest.param(False, id="without")]
WORDS = [b"rebalance", b"generation", b"has failed, removing", b"aaaaaaaaaa"]


@pytest.fixture(scope="module", params=BOTH)
def prefilter(request: pytest.FixtureRequest) -> Scan:
    """The shipped catalog's prefilter, both kinds."""
    if request.param:
        pytest.importorskip("hyperscan")
    return scan_for(shipped().catalog().search_words(), fast=request.param)


def test_every_sample_of_an_event_is_found_plain_and_inside_json(prefilter: Scan) -> None:
    messages = [
        f"{pattern.beside}: {sample.message}" if pattern.beside else sample.message
        for pattern in shipped().sound
        if pattern.event
        for sample in pattern.samples
    ]
    plain = [message for message in messages if not prefilter.hits(message.encode())]
    quoted = [message for message in messages if not prefilter.hits(json.dumps({"log": message}).encode())]
    assert (plain, quoted) == ([], [])


@pytest.mark.parametrize(
    "line",
    [
        "10:00:00,000 INFO [Log partition=orders-0, dir=/d] Rolled new log segment at offset 5 (kafka.log.Log)",
        "10:00:00,000 INFO [ReplicaFetcher replicaId=1, leaderId=2] Truncating partition orders-0",
        "10:00:00.000 INFO com.acme.OrderService : Order 77 for customer 5 was shipped",
        "10.0.0.1 - - [01/Mar/2026:10:00:00 +0000] GET /api/orders HTTP/1.1 200",
    ],
)
def test_lines_about_other_things_are_left_alone(prefilter: Scan, line: str) -> None:
    assert prefilter.hits(line.encode()) == []


@given(st.lists(st.sampled_from([*WORDS, b"rebalanc", b"generatio", b"\n", b" ", b"aaa", b"\xff"]), max_size=40))
def test_the_scan_without_hyperscan_finds_every_word_at_its_position(pieces: list[bytes]) -> None:
    block = b"".join(pieces)
    wanted = {at for word in WORDS for at in range(len(block)) if block.startswith(word, at)}
    assert WordScan(WORDS).hits(block) == sorted(wanted)


@given(st.lists(st.sampled_from([*WORDS, b"rebalanc", b"\n", b"aaa"]), max_size=30))
def test_both_scans_find_words_on_the_same_lines(pieces: list[bytes]) -> None:
    pytest.importorskip("hyperscan")
    block, words = b"".join(pieces), [word.decode() for word in WORDS]
    fast, plain = (scan_for(words, fast=fast).hits(block) for fast in (True, False))
    assert {block.count(b"\n", 0, at) for at in fast} == {block.count(b"\n", 0, at) for at in plain}


def test_the_catalog_of_this_machine_scans(prefilter: Scan) -> None:
    block = b"x\n" * 100_000 + b"Member c in group g has failed, removing it from the group\n"
    assert len({block.count(b"\n", 0, at) for at in prefilter.hits(block)}) == 1
    assert Catalog.load().prefilter().hits(block)
