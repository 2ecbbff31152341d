"""The pages of the docs site that are made from the product; `make docs` checks every link of the built site."""

from __future__ import annotations

import posixpath
import re

import pytest

from docs.site import cause_pages, message_pages
from docs.site.derived import DOCS, DOCUMENTS
from docs.site.markdown import block, code, slug
from docs.site.recorded import Recorded
from rebalance_forensics.diagnosis.engine.discovery import all_causes

LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    shown = Recorded(reports=dict.fromkeys(all_causes(), ""))
    shown.proves["consumer/poll-timeout-expired"]["slow-processing"] = 2
    shown.after["broker/member-failed"]["broker/rebalance-started"] = 3
    return {**dict(cause_pages.pages(shown)), **dict(message_pages.pages(shown))}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_made_of_the_product_says_what_the_product_does(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == DOCUMENTS[name](), "`make fmt` writes it anew"


def test_every_cause_and_every_message_of_the_catalog_has_its_own_page(pages: dict[str, str]) -> None:
    assert {f"causes/{name}.md" for name in all_causes()} <= pages.keys()
    messages = message_pages.patterns()
    assert len({message_pages.path_of(one) for one in messages}) == len(messages)
    assert {message_pages.speaker_of(one) for one in messages} == message_pages.SPEAKERS.keys()


def test_links_between_made_pages_lead_somewhere(pages: dict[str, str]) -> None:
    known = {*pages, "events.md", *(f"reports/{name}.html" for name in all_causes())}
    for path, text in pages.items():
        for target in LINK.findall(text):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) in known, (path, target)


def test_a_page_describes_a_lines_meaning_by_release_and_the_faults_that_it_is_evidence_of(
    pages: dict[str, str],
) -> None:
    text = pages["messages/consumer/poll-timeout-expired.md"]
    assert "did not call poll() for max.poll.interval.ms" in text
    assert "| 3.0-4.4 |" in text
    assert "(../../causes/slow-processing.md) (2 incidents)" in text
    assert "Preparing to rebalance" in pages["messages/broker/member-failed.md"]


def test_a_line_that_proved_nothing_so_far_gets_no_warning(pages: dict[str, str]) -> None:
    assert "When to worry" not in pages["messages/broker/generation-stabilized.md"]


def test_log_text_is_never_interpreted_as_markup() -> None:
    assert code("removed `c-1`") == "`` removed `c-1` ``"
    assert block("```").startswith("````")
    assert slug("PollTimeoutExpired") == "poll-timeout-expired"
