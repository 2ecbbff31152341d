"""What stands beside a verdict: rivals, what is ruled out and by which log, what would decide, the table of signs."""

from __future__ import annotations

import json
import re

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from rebalance_forensics.diagnosis.model import Incident, RuledOut, SearchedLog, SignRow
from rebalance_forensics.report import terminal
from rebalance_forensics.report.differential import LOGS_SHOWN, deciding, exclusions, proof_of, sign_table
from rebalance_forensics.report.exports import formats
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.incident_markdown import incident_markdown
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from tests.report.building import LAST_WORDS, a_startup, at, crash_report
from tests.report.extremes import hostile_report
from tests.report.weighed import a_weighed_crash, an_open_case, an_unexplained

DECIDES = "get the log of client payments-2, 10:01:26 to 10:02:14 (process-crash or network-partition)"
LONG_NAMES = ("offsets-topic-unavailable", "topic-metadata-change", "connect-config-change", "coordinator-failover")


def open_report() -> Report:
    return replace(crash_report(), incidents=(an_open_case(),))


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_first_screen_names_the_rivals_and_the_log_that_would_part_them() -> None:
    screen = flat("\n".join(terminal.render(open_report()).splitlines()[:24]))
    assert "Most likely process-crash (55 % sure); or network-partition, 27 %." in screen
    assert f"To settle it {DECIDES}" in screen


def test_a_rival_is_summarized_and_shown_in_full_on_request() -> None:
    brief, full = (flat(terminal.render(open_report(), verbosity=verbosity)) for verbosity in (0, 1))
    assert "Or network-partition, 27 %: client payments-2 Consumer payments-2 lost its brokers." in brief
    assert "1. Check the network of payments-2." in brief
    assert (brief.count(" Proof "), full.count(" Proof ")) == (1, 2)


def test_what_is_ruled_out_names_its_line_or_where_it_was_looked_for() -> None:
    text = flat(terminal.render(crash_report()))
    assert "network-partition its own log does not continue (payments-2/app.log:812)" in text
    assert "the end of the logs (looked in broker-1/server.log, 10:02:11 to 10:10:00)" in text


def test_a_search_that_goes_beyond_the_day_says_which_day() -> None:
    logs = tuple(SearchedLog(path=f"{n}.log", started_at=at(131), ended_at=at(131 + 86_400 * n)) for n in (1, 2, 1))
    other = RuledOut(cause="process-pause", why="", sign="", looked_in=logs)
    assert proof_of(other, a_weighed_crash()) == "looked in 1.log and 2.log, 10:02:11 to 2026-03-03 10:02:11"
    anytime = replace(an_open_case().would_decide[0], started_at=None, ended_at=None)
    case = replace(a_weighed_crash(), would_decide=(anytime,))
    assert tuple(deciding(case)) == ("get the log of client payments-2 (process-crash or network-partition)",)


def test_logs_of_the_same_time_are_asked_for_together() -> None:
    one = an_open_case().would_decide[0]
    others = (replace(one, who="payments-1"), replace(one, ended_at=at(500)))
    first, second = deciding(replace(an_open_case(), would_decide=(one, *others)))
    assert first.startswith("get the logs of clients payments-2 and payments-1, 10:01:26 to 10:02:14 (")
    assert second.startswith("get the log of client payments-2, 10:01:26 to 10:08:20 (")


def test_the_same_log_of_two_times_is_asked_for_once() -> None:
    one = replace(an_open_case().would_decide[0], between=("slow-processing",))
    later = replace(one, started_at=at(300), ended_at=at(310))
    (asked,) = deciding(replace(an_open_case(), would_decide=(one, later)))
    assert asked == "get the log of client payments-2, 10:01:26 to 10:02:14 and 10:05:00 to 10:05:10"


def test_logs_that_would_confirm_the_only_cause_name_no_choice_between_causes() -> None:
    one = replace(an_open_case().would_decide[0], between=("unstable-leader",))
    case = replace(an_open_case(), would_decide=(one,))
    assert tuple(deciding(case)) == ("get the log of client payments-2, 10:01:26 to 10:02:14",)


def test_causes_that_the_same_lines_rule_out_are_named_together() -> None:
    first, second = a_weighed_crash().ruled_out[:2]
    case = replace(an_open_case(), ruled_out=(first, replace(first, cause="slow-processing"), second))
    text = [(one.causes, one.example.why) for one in exclusions(case)]
    assert text == [((first.cause, "slow-processing"), first.why), ((second.cause,), second.why)]
    report = replace(crash_report(), incidents=(case,))
    assert f"{first.cause}, {first.why}" in flat(terminal.render(report))
    assert f"<dt>{first.cause},<br>slow-processing</dt>" in to_html(report)
    assert f"- **{first.cause}, slow-processing**: {first.why}" in "\n".join(incident_markdown(case)).replace("\\", "")


def test_the_legend_of_the_marks_appears_once_below_all_tables() -> None:
    both = replace(crash_report(), incidents=(a_weighed_crash(), replace(a_weighed_crash(), id="another")))
    text = flat(terminal.render(both, why=True))
    assert text.count("+++ or --- decisive") == 1


def test_each_sign_has_a_mark_for_each_cause_that_depends_on_it() -> None:
    table = sign_table(a_weighed_crash())
    assert [(one.cause, one.standing) for one in table.hypotheses] == [
        ("process-crash", "97 % sure"), ("process-pause", "ruled out"), ("network-partition", "ruled out"),
    ]  # fmt: skip
    assert [(line.wording, line.marks) for line in table.relevant] == [
        ("it was not seen again by the end of the logs", ("+", "---", "")),
        ("its own log does not continue", ("+++", "++", "---")),
        ("its own log shows lost connections: not shown", ("?", "", "?")),
    ]
    assert [(line.wording, line.marks, line.where) for line in table.idle] == [
        ("it came back", ("0", "0", ""), "broker-1/server.log:4720")
    ]


def test_a_cause_whose_signs_are_weak_and_not_decisive_is_unlikely_and_not_ruled_out() -> None:
    crash = replace(a_weighed_crash(), ruled_out=())
    assert {one.standing for one in sign_table(crash).hypotheses} == {"97 % sure", "unlikely"}


def test_why_shows_the_table_of_every_incident() -> None:
    report = replace(crash_report(), incidents=(a_startup(), a_weighed_crash()))
    text = terminal.render(report, why=True)
    assert "Why process-crash in payments on prod, incident 3f9a2c11d4e5\n" in text
    assert "Why startup in payments on prod, incident 00aa11bb22cc\n  No sign was weighed for it.\n" in text
    assert "  process-  process-  network-\n  crash     pause     partition  sign\n" in text
    assert "  +++       ++        ---        its own log does not continue\n" in text
    assert "1 more sign was checked and said nothing about these causes." in text
    assert "Why process-crash" not in terminal.render(report)
    assert "Why process-crash" in terminal.render(report, verbosity=-1, why=True)


def with_many_causes() -> Incident:
    weighs = tuple((cause, -4) for cause in LONG_NAMES)
    row = SignRow(sign="s", says="the coordinator answered all along", answer="present", weighs=weighs)
    return replace(a_weighed_crash(), signs=(*a_weighed_crash().signs, row))


@pytest.mark.parametrize("width", [44, 80, 132])
@pytest.mark.parametrize("incident", [a_weighed_crash(), an_open_case(), with_many_causes()])
def test_no_name_of_a_cause_is_broken_inside_a_word(incident: Incident, width: int) -> None:
    text = terminal.render_incident(incident, width=width)
    table = text[text.index("Signs\n") : text.index("+ or - weak")]
    assert max(map(cell_len, text.splitlines())) <= width
    words = {part for one in sign_table(incident).hypotheses for part in one.cause.split("-")}
    seen = set(table.replace("-", " ").replace("(", " ").split())
    assert words <= seen


def test_more_columns_than_fit_get_letters_with_a_key() -> None:
    text = terminal.render_incident(with_many_causes())
    assert "  A  process-crash (97 % sure)\n" in text
    assert "  G  coordinator-failover (unlikely)\n" in text
    assert "  A    B    C    D    E    F    G    sign\n" in text


def test_an_incident_is_explained_with_the_lines_of_each_sign() -> None:
    text = terminal.render_incident(a_weighed_crash())
    assert text.startswith("WARNING  payments on prod  incident 3f9a2c11d4e5\n")
    assert "  its own log does not continue\n    payments-2/app.log:812\n      2026-03-01 10:01:26,000 DEBUG" in text
    assert "    looked in broker-1/server.log, 10:02:11 to 10:10:00: nothing of the kind\n" in text
    assert "it came back\n" in text


def test_a_hostile_log_does_no_harm_in_a_table_of_signs() -> None:
    (enemy,) = hostile_report().incidents
    lines = enemy.root_causes[0].evidence
    rows = tuple(SignRow(sign="s", says=e.text, answer="present", weighs=(("a", 1),), evidence=(e,)) for e in lines)
    text = terminal.render_incident(replace(enemy, signs=rows), width=80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(cell_len, text.splitlines())) <= 80


def test_json_holds_the_fields_of_the_contract() -> None:
    (incident,) = json.loads(to_json(open_report()))["incidents"]
    assert [one["cause"] for one in incident["root_causes"]] == ["process-crash", "network-partition"]
    searched = {"path": "broker-1/server.log", "from": "2026-03-01T10:02:11.000Z", "to": "2026-03-01T10:10:00.000Z"}
    assert incident["ruled_out"] == [
        {
            "cause": "process-pause", "why": "it was not seen again by the end of the logs", "sign": "not-back-yet",
            "evidence": [], "looked_in": [searched],
        }
    ]  # fmt: skip
    assert incident["would_decide"] == [
        {
            "needs": "the log of client payments-2", "who": "payments-2", "from": "2026-03-01T10:01:26.000Z",
            "to": "2026-03-01T10:02:14.300Z", "between": ["process-crash", "network-partition"],
        }
    ]  # fmt: skip
    weighed = incident["signs"][2]
    assert (weighed["sign"], weighed["answer"]) == ("own-log-continues", "absent")
    assert weighed["weighs"][2] == {"cause": "network-partition", "weight": -4}
    assert weighed["evidence"][0]["line"] == LAST_WORDS.line


def test_the_page_folds_the_table_under_each_incident() -> None:
    page = to_html(open_report())
    assert 'Most likely <strong>process-crash</strong>, <span class="measure">55 %</span> sure; or' in page
    assert "<h2>To settle it, get</h2>" in page
    assert "<li><strong>The log of client payments-2</strong>, <time" in page
    assert "<summary>Why: 3 causes against 4 signs</summary>" in page
    assert '<td class="mark">+++</td><td class="mark">---</td><td class="mark">++</td>' in page
    assert "<summary>Or network-partition, 27 %: client payments-2</summary>" in page
    assert "looked in broker-1/server.log, 10:02:11 to 10:10:00" in page


def test_markdown_holds_rivals_what_would_decide_and_the_table() -> None:
    text = formats()["markdown"](open_report())
    assert f"| To settle it | {DECIDES} |" in text
    assert "## Or network-partition, 27 %" in text
    assert "- **process-pause**: it was not seen again by the end of the logs (looked in broker-1/server.log," in text
    assert "| `+++` | `---` | `++` | its own log does not continue | `payments-2/app.log:812` |" in text


def test_of_a_thousand_deciding_logs_the_terminal_shows_a_dozen_and_the_json_all() -> None:
    case = an_open_case()
    wanted = tuple(replace(case.would_decide[0], who=f"app-{one}") for one in range(1_000))
    report = replace(open_report(), incidents=(replace(case, would_decide=wanted),))
    screen = flat(terminal.render(report))
    assert len(re.findall(r"\bapp-\d", screen.partition("What to do")[0])) == LOGS_SHOWN
    assert "and 988 more logs; the JSON report names them all" in screen
    page = to_html(report)
    assert len(re.findall(r"\bapp-\d", page.partition("And 988 more logs")[0])) == LOGS_SHOWN
    assert "And 988 more logs; the JSON report names them all." in page
    markdown = formats()["markdown"](report)
    assert len(re.findall(r"\bapp-\d", markdown)) == LOGS_SHOWN
    assert "| To settle it | and 988 more logs; the JSON report names them all |" in markdown
    assert "and 988 more logs" in formats()["pagerduty"](report)
    assert len(json.loads(to_json(report))["incidents"][0]["would_decide"]) == 1_000


def test_short_messages_name_a_rival_only_where_it_matters() -> None:
    minor = replace(an_open_case().root_causes[1], confidence=0.1)
    slight = replace(
        open_report(), incidents=(replace(an_open_case(), root_causes=(a_weighed_crash().root_causes[0], minor)),)
    )
    for name in ("slack", "pagerduty"):
        assert "network-partition, 27 %" in formats()[name](open_report())
        assert DECIDES in formats()[name](open_report())
        assert "network-partition" not in formats()[name](slight)


def test_a_rival_is_a_note_in_sarif_whatever_the_incident_is() -> None:
    verdict, rival = json.loads(formats()["sarif"](open_report()))["runs"][0]["results"]
    assert (verdict["level"], rival["level"]) == ("warning", "note")
    assert rival["message"]["text"].startswith("Or network-partition, 27 %: Consumer payments-2 lost its brokers.")


def test_an_unexplained_incident_has_no_likelihood() -> None:
    text = terminal.render_incident(an_unexplained())
    assert "Unexplained: no known root cause fits these logs.\n" in text
    assert "Most likely" not in text
