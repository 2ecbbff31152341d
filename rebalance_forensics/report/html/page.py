"""Renders the report as a single HTML file that runs only its own script and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rebalance_forensics.diagnosis.model import RANKS
from rebalance_forensics.diagnosis.wording.durations import capitalized, some
from rebalance_forensics.process.resources import collecting_rarely
from rebalance_forensics.records import is_timed
from rebalance_forensics.report import conclusions, differential, incident_facts, times, wording
from rebalance_forensics.report.documents import Json
from rebalance_forensics.report.html import budget, names, overview, prepared_history, shapes
from rebalance_forensics.report.html.content import Content, content_of
from rebalance_forensics.report.html.page_data import page_data
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import BEFORE_UNIT, line_of, lines_of, prose
from rebalance_forensics.report.urgency_order import is_unexplained

LONGEST_WHOLE = 30
SCRIPT = ("page", "times", "panel", "folding", "picture", "filters", "sorting", "address", "copying", "start")


@collecting_rarely()
def to_html(report: Report) -> str:
    """Render the whole report; the same report gives the same bytes."""
    content = content_of(report)
    script = _script()
    return rendered(
        "report.html.j2",
        script,
        content=content,
        report=report,
        script=Markup(script),  # noqa: S704 (our own file, not a word of a log)
        island=island(page_data(content)),
        title=_title(report, content),
    )


def rendered(template: str, allowed_script: str, **facts: object) -> str:
    """Render one of our templates with our style; only the allowed script can run in it."""
    style = _asset("report.css")
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(style),  # noqa: S704 (our own file, not a word of a log)
            policy=_policy(style, allowed_script),
            **facts,
        )
    )


def _title(report: Report, content: Content) -> str:
    worst = content.faults[0].incident if content.faults else None
    return (
        f"{worst.root_causes[0].cause} in {worst.group or wording.group_of(worst)}"
        if worst
        else conclusions.conclusion(report).title
    )


def _policy(style: str, script: str) -> str:
    sources = (f"style-src '{_digest(style)}'", f"script-src '{_digest(script)}'")
    return "; ".join(("default-src 'none'", *sources, "base-uri 'none'", "form-action 'none'"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _script() -> str:
    """The page's script, assembled from several files in one scope, with the constants that it shares with Python."""
    parts = "\n".join(_asset("script", f"{part}.js") for part in SCRIPT)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'.replace("FEW_LANES", str(budget.FEW_LANES))


def _asset(*names: str) -> str:
    return resources.files("rebalance_forensics.report").joinpath("templates", *names).read_text(encoding="utf-8")


def _filters() -> dict[str, Callable[..., object]]:
    # Functions for the templates: those of the wording modules by name, and some of the page's own.
    spoken = (times, wording, differential, incident_facts, conclusions, names)
    # Imported names are left out: they may equal one of Jinja's own filters, such as `escape`.
    shared = {
        name: function
        for module in spoken
        for name, function in vars(module).items()
        if callable(function) and getattr(function, "__module__", "") == module.__name__
    }
    return shared | {
        "clock": times.time_of_day,
        "duration": times.duration,
        "some": some,
        "capitalized": capitalized,
        "length_or_unknown": _length_or_unknown,
        "lines": _lines,
        "prose": prose,
        "unbroken": _unbroken,
        "tied": _tied,
        "apart": _apart,
        "rank": RANKS.__getitem__,
        "is_unexplained": is_unexplained,
        "filter_groups": overview.filter_groups,
        "legend": shapes.legend,
        "strokes": shapes.strokes,
        "steps": incident_facts.steps_of,
    }


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rebalance_forensics.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.filters.update(_filters())
    environment.tests["timed"] = is_timed
    environment.globals.update({"sign_legend": differential.LEGEND, "OWNERS_SHOWN": prepared_history.COLORS})
    environment.globals["LOGS_SHOWN"] = differential.LOGS_SHOWN
    return environment


def _length_or_unknown(ms: int | None) -> str:
    return "unknown" if ms is None else times.duration(ms)


_MEASURE = rf"(?P<measure>[\d.,]{{1,12}}{BEFORE_UNIT.pattern}[%A-Za-z]{{1,5}})"
_NAME = rf"(?P<whole>(?<!\S)(?=\S*-)\S{{1,{LONGEST_WHOLE}}}(?!\S))"
_MEASURES, _MEASURES_AND_NAMES = re.compile(_MEASURE), re.compile(f"{_MEASURE}|{_NAME}")


def _tied(text: str) -> Markup:
    # Keep numbers with their units on one line.
    return _spanned(_MEASURES, text)


def _unbroken(text: str) -> Markup:
    # Keep names such as broker-1 on one line of a headline as well.
    return _spanned(_MEASURES_AND_NAMES, names.brief(prose(text)))


def _spanned(pattern: re.Pattern[str], text: str) -> Markup:
    safe, span, end = line_of(text, budget.LINE_CHARACTERS), Markup('<span class="{}">{}</span>'), 0
    parts = []
    for found in pattern.finditer(safe):
        parts += [escape(safe[end : found.start()]), span.format(found.lastgroup, found[0])]
        end = found.end()
    return Markup("").join([*parts, escape(safe[end:])])


def _apart(several: Iterable[str]) -> Markup:
    # Several names in one attribute, one per line, as the page's filters split them.
    return Markup("\n").join(line_of(name, budget.LINE_CHARACTERS) for name in dict.fromkeys(several))


def _lines(text: str) -> Markup:
    # Make each line of a record harmless.
    return Markup("\n").join(lines_of(text, budget.LINE_CHARACTERS))


def _harmless(value: object) -> object:
    # Make every text harmless, wherever a template prints it.
    return line_of(value, budget.LINE_CHARACTERS) if isinstance(value, str) and not isinstance(value, Markup) else value


ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def island(document: Json) -> Markup:
    """Embed a document so that no text in it can close the script element or open a comment."""
    # ensure_ascii also covers U+2028 and U+2029, which used to end a line in JavaScript.
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, harmless in ESCAPES.items():
        text = text.replace(character, harmless)
    return Markup(text)  # noqa: S704 (every character that HTML gives a meaning is escaped above)
