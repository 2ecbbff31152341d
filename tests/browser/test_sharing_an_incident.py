"""An incident handed on: by a link, as Markdown, on paper."""

from __future__ import annotations

import re
from urllib.parse import parse_qs

import pytest

from rebalance_forensics.report.incident_markdown import incident_markdown
from rebalance_forensics.report.model import Report
from tests.browser.accessibility import violations
from tests.browser.conftest import Opened, Opener
from tests.browser.looking import FIRST_PICTURE, view_of
from tests.report.building import a_crash, crash_report
from tests.report.extremes import hostile_report, many_events, many_groups
from tests.report.owned import owned_report
from tests.report.weighed import weighed_report

pytestmark = pytest.mark.browser

PAPER_PAGES = 2
WINDOW_HEIGHT = 900
CLIPBOARD = ["clipboard-read", "clipboard-write"]


def address(one: Opened, *, holding: str) -> dict[str, list[str]]:
    """What stands behind the # once it holds a word; it is written a moment after the choice."""
    one.page.wait_for_function("word => location.hash.includes(word)", arg=holding)
    return parse_qs(one.page.evaluate("location.hash.slice(1)"))


def followed(one: Opened) -> None:
    """Open the page's own address anew, as a reader with the link does."""
    address = one.page.evaluate("location.href")
    one.page.goto("about:blank")
    one.page.goto(address)


def pages_of(one: Opened) -> int:
    """On how many sheets the page is printed."""
    return one.page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n")


def print_pressed(one: Opened, incident: str) -> None:
    """Press the button of an incident, and keep the dialog of the browser away."""
    one.page.evaluate("() => { window.print = () => {}; }")
    one.page.locator(f"#incident-{incident}").get_by_role("button", name="Print").click()


def test_a_link_shows_the_filter_its_sender_had_chosen(opened: Opener) -> None:
    one = opened(many_groups(12))
    one.page.get_by_label("Group", exact=True).select_option("payments-eu-003 on prod")
    one.page.get_by_label("Member", exact=True).fill("payments-1")
    told = address(one, holding="member=payments-1")
    assert told == {"group": ["payments-eu-003 on prod"], "member": ["payments-1"]}
    followed(one)
    assert one.page.locator("tbody tr[data-group]:visible").count() == 1
    assert one.page.get_by_label("Member", exact=True).input_value() == "payments-1"


def test_a_link_shows_the_time_and_the_rows_its_sender_saw(opened: Opener) -> None:
    one = opened(owned_report())
    picture = one.page.locator(FIRST_PICTURE)
    picture.get_by_role("button", name="Partitions").click()
    picture.get_by_role("button", name="Zoom in").click()
    picture.get_by_role("button", name="Later").click()
    told = address(one, holding="from=")
    assert told["rows"] == ["partitions"]
    before = view_of(one)
    one.page.wait_for_timeout(300)
    followed(one)
    assert view_of(one) == pytest.approx(before, abs=20)
    assert "orders 4-5" in picture.locator(".names li:visible").all_inner_texts()


def test_a_link_opens_the_incident_its_sender_had_open(opened: Opener) -> None:
    one = opened(crash_report())
    folded = one.page.locator("details.incident").first
    folded.locator("summary").first.click()
    identifier = (folded.get_attribute("id") or "").removeprefix("incident-")
    assert address(one, holding="incident=") == {"incident": [identifier]}
    followed(one)
    assert folded.get_attribute("open") is not None
    beginning = folded.bounding_box()
    assert beginning is not None
    assert 0 <= beginning["y"] < WINDOW_HEIGHT


def test_a_link_within_the_page_keeps_what_is_chosen_and_the_way_back_leads_back(opened: Opener) -> None:
    one = opened(many_groups(12))
    one.page.get_by_label("Member", exact=True).fill("payments-1")
    address(one, holding="member=")
    one.page.locator("tbody a").nth(2).click()
    told = address(one, holding="incident=")
    assert told["member"] == ["payments-1"]
    assert one.page.locator(f"#incident-{told['incident'][0]}[open]").count() == 1
    one.page.go_back()
    one.page.wait_for_function("!location.hash.includes('incident=')")
    assert one.page.get_by_label("Member", exact=True).input_value() == "payments-1"


def test_a_link_from_elsewhere_to_an_incident_opens_it(opened: Opener) -> None:
    one = opened(many_groups(12))
    one.page.goto(f"{one.page.url}#incident-{3:012x}")
    one.page.locator(f"#incident-{3:012x}[open]").wait_for()


def test_a_link_to_local_times_shows_them_and_one_to_nothing_complains_about_nothing(opened: Opener) -> None:
    one = opened(crash_report(), timezone_id="Asia/Tokyo")
    one.page.get_by_role("button", name="Local time").click()
    address(one, holding="times=local")
    followed(one)
    assert "Asia/Tokyo" in one.page.locator("#zone-name").inner_text()
    strange = ("#incident=none", "#picture=none&from=x&to=y", "#%", "#group=none&cause=%E0%A4%A")
    for wrong in (*strange, "#picture=picture-0&from=2&to=1"):
        one.page.goto(one.page.url.partition("#")[0] + wrong)
        one.page.reload()
        assert one.page.locator("h1").count() == 1, wrong


def test_an_incident_is_copied_as_markdown(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.context.grant_permissions(CLIPBOARD)
    button = one.page.locator("article.incident").get_by_role("button", name="Copy as Markdown")
    button.click()
    one.page.locator("article.incident").get_by_role("button", name="Copied").wait_for()
    text = one.page.evaluate("navigator.clipboard.readText()")
    assert text.startswith(f"# {a_crash().summary}")
    for words in ("### Timeline", "| time (UTC) | event | line |", "`broker-1/server.log:4711`", "### What to do"):
        assert words in text
    assert one.page.locator("#says").text_content() == "Copied"
    one.page.context.clear_permissions()


def test_where_the_clipboard_is_closed_a_selection_is_copied_all_the_same(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    one.page.evaluate("addEventListener('copy', () => { window.taken = getSelection().toString(); })")
    one.page.locator("article.incident").get_by_role("button", name="Copy as Markdown").click()
    one.page.locator("article.incident").get_by_role("button", name="Copied").wait_for()
    assert "### Timeline" in one.page.evaluate("window.taken")
    assert one.page.locator("textarea").count() == 0


def copies_of(one: Opened) -> list[str]:
    """What each incident's button copies, in the order of the page."""
    one.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: {writeText: text => taken.push(text)}})")
    one.page.evaluate("taken = []; for (const copy of document.querySelectorAll('[data-do=copy]')) copy.click()")
    return [str(text) for text in one.page.evaluate("taken")]


@pytest.mark.parametrize(
    "report",
    [crash_report(), weighed_report(), many_groups(12), hostile_report()],
    ids=["crash", "weighed", "many-groups", "hostile"],
)
def test_what_is_copied_is_the_incident_as_the_markdown_export_tells_it(opened: Opener, report: Report) -> None:
    told = ["\n".join(incident_markdown(incident)) for incident in report.incidents]
    assert sorted(copies_of(opened(report))) == sorted(told)


def test_what_is_copied_of_an_enemy_holds_no_markup(opened: Opener) -> None:
    texts = copies_of(opened(hostile_report()))
    assert texts
    for text in texts:
        outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert "<" not in outside.replace("\\<", "")


@pytest.mark.parametrize(
    "report", [crash_report(), weighed_report(), many_events(2_000)], ids=["crash", "weighed", "forty-lanes"]
)
def test_one_incident_is_printed_by_itself_on_two_pages(opened: Opener, report: Report) -> None:
    one = opened(report)
    everything = pages_of(one)
    incident = (one.page.locator("article.incident").get_attribute("id") or "").removeprefix("incident-")
    print_pressed(one, incident)
    assert pages_of(one) <= PAPER_PAGES < everything
    print_pressed(one, incident)
    one.page.emulate_media(media="print")
    assert one.page.locator("h1").is_visible()
    for gone in ("h2#groups", "h2#coverage", "details.group", "footer", ".actions"):
        assert one.page.locator(gone).first.is_hidden(), gone
    one.page.evaluate("() => { dispatchEvent(new Event('afterprint')); }")
    one.page.emulate_media(media="screen")
    assert one.page.locator("h2#groups").is_visible()
    assert one.page.locator(".printed").count() == 0


def test_an_incident_below_the_first_is_printed_by_itself_too(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator("details.incident > summary").first.click()
    print_pressed(one, (one.page.locator("details.incident").first.get_attribute("id") or "").removeprefix("incident-"))
    one.page.emulate_media(media="print")
    assert one.page.locator("h1").is_hidden()
    assert one.page.get_by_text("broker-1/server.log:4000").first.is_visible()
    assert pages_of(one) <= PAPER_PAGES


def test_axe_finds_nothing_with_every_button_and_a_filter_that_leaves_nothing(opened: Opener) -> None:
    one = opened(crash_report(), width=390)
    one.page.get_by_role("button", name="Filter", exact=True).click()
    one.page.get_by_label("Member", exact=True).fill("nobody")
    assert violations(one.page) == []
