from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from msgspec.structs import replace

from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.html.names import brief, sentence
from rebalance_forensics.report.incident_markdown import incident_markdown
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.rebalance_patterns import Clock
from rebalance_forensics.timeline.model import CoordinatorTerm
from tests.report.building import a_crash, at, crash_report, empty_report, healthy_report, payments, running
from tests.report.extremes import hostile_report, many_events, many_groups
from tests.report.owned import owned_report
from tests.report.weighed import weighed_report

VOID = frozenset({"meta", "input", "br"})
EVERY_REPORT = pytest.mark.parametrize(
    "report",
    [
        *(crash_report(), healthy_report(), empty_report(), many_groups(30), hostile_report(), many_events(500)),
        *(weighed_report(), owned_report()),
    ],
    ids=["crash", "healthy", "no group", "many groups", "hostile", "many events", "weighed", "owned"],
)


class Page(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.opened: list[str] = []
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element and its attributes."""
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element of SVG that closes itself."""
        self.handle_starttag(tag, attrs)
        self.opened.pop()

    def handle_endtag(self, tag: str) -> None:
        """Check that what ends is what began last."""
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note the text under its element."""
        self.texts.setdefault(self.opened[-1] if self.opened else "", []).append(data)

    def values(self, name: str) -> Iterator[str]:
        """Give all values of an attribute."""
        return (value for _, other, value in self.attributes if other == name)


def read(report: Report) -> Page:
    page = Page()
    page.feed(to_html(report))
    page.close()
    return page


@EVERY_REPORT
def test_every_element_is_closed_and_every_id_is_unique(report: Report) -> None:
    page = read(report)
    assert page.opened == []
    assert len(page.ids) == len(set(page.ids))


@EVERY_REPORT
def test_links_stay_within_the_page(report: Report) -> None:
    page = read(report)
    assert not list(page.values("src"))
    for target in page.values("href"):
        assert target.removeprefix("#") in page.ids
    for labels in page.values("aria-labelledby"):
        assert labels in page.ids


@EVERY_REPORT
def test_nothing_of_the_page_is_loaded_from_anywhere(report: Report) -> None:
    text = to_html(report)
    assert not re.findall(r"(?:src|href|xlink:href|action)\s*=\s*[\"']?(?:https?:)?//", text)
    assert "@import" not in text
    assert "url(" not in text


@EVERY_REPORT
def test_the_policy_allows_our_script_and_style_and_nothing_else(report: Report) -> None:
    text = to_html(report)
    policy = next(value for value in read(report).values("content") if "default-src" in value)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    assert style
    assert script
    for name, source in (("style-src", style.group(1)), ("script-src", script.group(1))):
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@EVERY_REPORT
def test_no_element_carries_code_or_style(report: Report) -> None:
    for _, name, _ in read(report).attributes:
        assert not name.startswith("on")
        assert name != "style"


@EVERY_REPORT
def test_the_data_island_is_whole(report: Report) -> None:
    text = to_html(report)
    island = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', text, re.DOTALL)
    assert island
    data = json.loads(island.group(1))
    assert not set("<>&") & set(island.group(1))
    pictures = list(read(report).values("data-picture"))
    assert sorted(data["pictures"]) == sorted(pictures)


def test_the_page_of_a_crash_says_all_there_is_to_say() -> None:
    text = " ".join(" ".join(parts) for parts in read(crash_report()).texts.values())
    for words in (
        *("died without leaving", "97 %", "What to do", "Find out what killed payments-2", "What happened"),
        *("Proof", "payments-2/app.log:812", "removing it from the group", "Ruled out", "KAFKA-14024", "What if"),
        *("cooperative rebalancing", "Who led", "Pauses by member", "Who is who", "max.poll.interval.ms"),
        *("What the logs do not show", "No log of consumer payments-3", "the gzip ends early"),
    ):
        assert words in text


@pytest.mark.parametrize(
    ("ongoing", "lasted", "words"),
    [
        (True, None, "still going on when the logs end"),
        (False, None, "end not seen"),
        (False, 9_200, "lasted 9.2 s, <strong>resolved</strong>"),
        (False, 0, "</time>"),
    ],
)
def test_an_incident_is_explicitly_labelled_as_over_or_ongoing(
    *, ongoing: bool, lasted: int | None, words: str
) -> None:
    report = crash_report()
    end = None if lasted is None else a_crash().started_at + lasted
    crash = replace(a_crash(), ongoing=ongoing, ended_at=end)
    text = to_html(replace(report, incidents=(crash, *report.incidents[1:])))
    text = text.replace('<span class="measure">9.2 s</span>', "9.2 s")
    assert words in text.split("<dt>When</dt>")[1].partition("</div>")[0]
    assert words in text.split('id="overview"')[1].partition("</table>")[0]


def test_times_in_sentences_are_moments_of_their_day() -> None:
    day = 86_400_000
    text = sentence(("<b>Generation 1 at ", Clock(at(60)), ", 2 at ", Clock(EpochMs(at(60) + day)), "."), "payments")
    assert text == (
        '&lt;b&gt;Generation 1 at <time datetime="2026-03-01T10:01:00.000Z">10:01:00.000</time>, '
        '2 at <time datetime="2026-03-02T10:01:00.000Z">10:01:00.000</time>.'
    )


def test_random_ids_in_sentences_and_cells_are_shortened_to_their_beginning() -> None:
    assert (
        brief("shop-225712b8-b54d-4043-a7e1-c489ee4f8fd5-StreamThread-1 left") == "shop-225712b8…-StreamThread-1 left"
    )
    assert brief("order-20260301-1200") == "order-20260301-1200"
    consumers = [f"shop-225712b8-b54d-4043-a7e1-c489ee4f8fd5-StreamThread-{one}-consumer" for one in (1, 2)]
    assert brief(", ".join(consumers), "shop") == "225712b8…-StreamThread-1, 225712b8…-StreamThread-2"
    assert brief("my-shop-225712b8-b54d-4043-a7e1-c489ee4f8fd5", "shop") == "my-shop-225712b8…"


def test_versions_are_listed_once_with_the_hosts_that_run_them() -> None:
    history = replace(payments(), versions=running(("broker-1", "3.9.1"), ("node-1", "2.8.2"), ("node-2", "3.9.1")))
    text = to_html(replace(crash_report(), groups=(history,)))
    assert "<dt>Kafka 3.9.1</dt><dd>broker-1 and node-2</dd>" in text
    assert "<dt>Kafka 2.8.2</dt><dd>node-1</dd>" in text


def test_the_most_urgent_incident_opens_the_page() -> None:
    heading = re.search(r"<article.*?</h1>", to_html(many_groups(30)), re.DOTALL)
    assert heading
    assert "payments-eu-009" in heading.group()
    assert "critical" in heading.group()


def test_the_timeline_table_tells_events_with_their_lines_also_without_a_script() -> None:
    text = to_html(crash_report())
    table = text.split('id="group-0-events"')[1].partition("</table>")[0]
    for words in ("session expired", "broker-1/server.log:4711", "has failed, removing it from the group"):
        assert words in table
    assert table.index("4711") < table.index("4720")


def test_a_page_of_many_events_stays_small_and_says_what_it_leaves_out() -> None:
    text = to_html(many_events(100_000))
    assert len(text.encode()) < 10_000_000
    assert "Not drawn:" in text
    assert "leaves out:" in text


def test_terms_of_coordinators_that_are_left_out_are_counted() -> None:
    terms = tuple(CoordinatorTerm(broker="broker-1", started_at=at(n), ended_at=at(n + 1)) for n in range(100))
    text = to_html(replace(crash_report(), groups=(replace(payments(), coordinators=terms),)))
    assert "And 60 more terms, left out here." in text
    assert "60 terms of coordinators" in text.split("leaves out:")[1]


def test_no_mark_of_a_fault_gives_way_to_a_plain_one() -> None:
    report = many_events(20_000)
    faults = sum(mark.severity == "fault" for lane in report.groups[0].lanes for mark in lane.marks)
    history = to_html(report).split('data-picture="history-0"')[1]
    assert history.count('class="dot fault"') == faults


def test_the_same_report_gives_the_same_page() -> None:
    assert to_html(many_groups(12)) == to_html(many_groups(12))


def test_headings_of_rivals_follow_one_another_without_a_gap() -> None:
    main = to_html(weighed_report()).partition("<main")[2]
    levels = [int(level) for level in re.findall(r"<h([1-6])", main)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_an_exception_follows_the_line_that_logged_it_on_the_page_and_in_markdown() -> None:
    report = crash_report()
    (incident, *_), (cause, *rivals) = report.incidents, report.incidents[0].root_causes
    text = "ERROR Poll failed\njava.lang.IllegalStateException: <b>no</b>\u202e\nat org.example.W.assign(W.java:41)"
    logged = replace(cause.evidence[0], text=text)
    incident = replace(incident, root_causes=(replace(cause, evidence=(logged,)), *rivals))
    page = to_html(replace(report, incidents=(incident,)))
    below = "ERROR Poll failed\njava.lang.IllegalStateException: {}no{}\\u202e\nat org.example.W.assign(W.java:41)"
    assert f"<pre>{below.format('&lt;b&gt;', '&lt;/b&gt;')}</pre>" in page
    assert below.format("<b>", "</b>") in "\n".join(incident_markdown(incident))
