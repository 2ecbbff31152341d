"""Lines as people paste them: what mail, chats, editors, terminals, tickets and spreadsheets make of a log."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import NamedTuple

_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_HEADER = re.compile(
    rf"\[?(?:\d{{4}}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[.,]\d+\]?(?:Z|[+-]\d\d:?\d\d)? +(?:\[[^\]]+\] )?{_LEVEL} +"
    r"(?:\d+ --- (?:\[[^\]]+\] )+\S+ +: |[\w.$]+ - )?"
)
"""Kafka's own, with a date or without; Spring's and Logback's with thread and logger."""


class Record(NamedTuple):
    """A record, with the lines of its stack trace if it has one, its time in UTC and the host that wrote it."""

    at: str
    host: str
    text: str

    @property
    def message(self) -> str:
        """The record without its header and without the logger after it."""
        return re.sub(r" \([\w.$]+(?::\d+)?\)$", "", self.rest, count=1, flags=re.MULTILINE)

    @property
    def rest(self) -> str:
        """The text after the header."""
        return _HEADER.sub("", self.text)

    @property
    def header(self) -> str:
        """The text before the message."""
        return self.text.removesuffix(self.rest)


Shape = Callable[[Sequence[Record]], str]


def _each(write: Callable[[Record], str]) -> Shape:
    return lambda records: "".join(write(each) + "\n" for each in records)


def _each_line(write: Callable[[str], str]) -> Shape:
    return lambda records: "".join(write(line) + "\n" for line in _lines(records))


def _numbered(write: Callable[[int, str], str]) -> Shape:
    return lambda records: "".join(write(118 + at, line) + "\n" for at, line in enumerate(_lines(records)))


def wrapped(lines: Sequence[str], columns: int, indent: str = "", *, hyphens: bool = False) -> str:
    """Lines wrapped between words."""
    broken = (
        part
        for line in lines
        for part in textwrap.wrap(line, columns, subsequent_indent=indent, break_on_hyphens=hyphens)
    )
    return "\n".join(broken) + "\n"


def cut(lines: Sequence[str], columns: int, indent: str = "") -> str:
    """Lines wrapped at a column, also inside words."""
    out: list[str] = []
    for line in lines:
        out.append(line[:columns])
        rest, width = line[columns:], columns - len(indent)
        out += [indent + rest[at : at + width] for at in range(0, len(rest), width)]
    return "\n".join(out) + "\n"


def _framed(records: Sequence[Record]) -> str:
    rows = cut(_lines(records), 110).splitlines()
    return "\n".join(["\u250c" + "\u2500" * 112 + "\u2510", *(f"\u2502 {row:110} \u2502" for row in rows)]) + "\n"


def _lines(records: Sequence[Record]) -> list[str]:
    return [line for each in records for line in each.text.split("\n")]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def _below(record: Record) -> str:
    """The message on the line below its header."""
    return f"{record.header.rstrip()}\n    {record.rest}"


def _below_its_prefix(record: Record) -> str:
    """The message on the line below the prefix of Kafka's class, which kept its space."""
    prefix = re.match(r"(?:\[[^\[\]]+\]:? )?", record.rest)
    return f"{record.header}{prefix[0]}\n\t{record.rest[prefix.end() :]}" if prefix and prefix[0] else record.text


def _in_the_middle(mark: str) -> Shape:
    def shape(records: Sequence[Record]) -> str:
        lines = _lines(records)
        return "\n".join([*lines[: len(lines) // 2], mark, *lines[len(lines) // 2 :]]) + "\n"

    return shape


def _in_quotes(text: str) -> str:
    """As spreadsheets write a cell of several lines."""
    return '"' + text.replace('"', '""') + '"' if "\n" in text else text


SHAPES: dict[str, Shape] = {
    "plain": _each_line(lambda line: line),
    "in a fence": lambda records: (
        "Hi all,\n\nsee the log:\n\n```\n" + "\n".join(_lines(records)) + "\n```\n\nAny idea? Thanks!\n"
    ),
    "quoted": _each_line(lambda line: f"> {line}"),
    "quoted twice and wrapped": lambda records: "".join(
        f">> {row}\n" for row in wrapped(_lines(records), 76).splitlines()
    ),
    "wrapped at 100": lambda records: wrapped(_lines(records), 100),
    "wrapped after hyphens": lambda records: wrapped(_lines(records), 90, hyphens=True),
    "wrapped with a hanging indent": lambda records: wrapped(_lines(records), 120, "    "),
    "cut at 80": lambda records: cut(_lines(records), 80),
    "cut at 133 with a hanging indent": lambda records: cut(_lines(records), 133, "  "),
    "framed": _framed,
    "bullets": lambda records: "What we saw:\n\n" + "".join(f"- {line}\n" for line in _lines(records)),
    "bullets of code": _each_line(lambda line: f"* `{line}`"),
    "a numbered list": lambda records: "".join(f"{at}. {line}\n" for at, line in enumerate(_lines(records), 1)),
    "a block comment": lambda records: "/**\n" + "".join(f" * {line}\n" for line in _lines(records)) + " */\n",
    "an editor's numbers": _numbered(lambda at, line: f"\t{at}\t{line}"),
    "grep -n": _numbered(lambda at, line: f"{at * 7}:{line}"),
    "grep's files": lambda records: "".join(
        f"logs/{t.host}/server.log:{line}\n" for t in records for line in t.text.split("\n")
    ),
    "bold": lambda records: "".join(f"**{line}**\n\n" for line in _lines(records)),
    "links": lambda records: re.sub(
        r"\b(127\.0\.0\.1:\d+)", r"<http://\1|\1>", "".join(f"{x}\n" for x in _lines(records))
    ),
    "typographic": lambda records: "".join(
        f"{line}\n".replace("-", "\u2013").replace("'", "\u2019").replace(" ", "\u00a0", 2) for line in _lines(records)
    ),
    "a chat": _each(lambda t: f"Sam Miller  {t.at[11:16]}\n{t.text}\n"),
    "a chat of JSON": lambda records: "\n".join(
        f"sam  {t.at[11:16]}\n{json.dumps({'@timestamp': t.at, 'level': 'INFO', 'message': t.message})}\n"
        for t in records
    ),
    "mixed line ends": lambda records: "".join(
        x + ("\r\n", "\n", "\r")[at % 3] for at, x in enumerate(_lines(records))
    ),
    "in one line": lambda records: " ".join(_lines(records)) + "\n",
    "a Markdown table": lambda records: (
        "| time | host | message |\n|---|---|---|\n"
        + "".join(f"| {t.at} | {t.host} | {_cell(t.message)} |\n" for t in records)
    ),
    "a table of documents": lambda records: (
        "| Time | Document |\n|---|---|\n"
        + "".join(f"| {t.at} | log: {_cell(json.dumps({'level': 'INFO', 'message': t.message}))} |\n" for t in records)
    ),
    "an HTML table": lambda records: (
        "<table>\n"
        + "".join(
            f"<tr><td>{t.at}</td><td>{html.escape(t.message).replace(chr(10), '<br>')}</td></tr>\n" for t in records
        )
        + "</table>\n"
    ),
    "a spreadsheet": _each(lambda t: f"{t.at}\t{t.host}\t{_in_quotes(t.message)}"),
    "JSON in a fence": lambda records: (
        "```json\n"
        + "".join(json.dumps({"@timestamp": t.at, "level": "INFO", "message": t.message}) + "\n" for t in records)
        + "```\n"
    ),
    "no date": _each(lambda t: f"{t.at[11:23]} INFO {t.message}"),
    "months in German": _each(lambda t: f"{int(t.at[8:10])}. November {t.at[:4]}, {t.at[11:19]} MEZ INFO {t.message}"),
    "months in French": _each(lambda t: f"{int(t.at[8:10])} nov. {t.at[:4]} \u00e0 {t.at[11:19]} INFO {t.message}"),
    "its time twice": _each(lambda t: f"{t.at} {t.text}"),
    "a fence in the middle": _in_the_middle("```"),
    "a blank in front": _each_line(lambda line: f" {line}"),
    "the message below its header": _each(_below),
    "the message below its prefix": _each(_below_its_prefix),
    "the reason on a line below": _each(lambda t: t.text.replace(" (reason: ", " \n\t(reason: ")),
    "an ingestion time behind": _each(lambda t: f"{t.text},{t.at[:10]} {t.at[11:23]}"),
    "a category line above": _each(lambda t: f"info: com.acme.Bus[0]\n      {t.message}"),
    "bare": _each(lambda t: t.message),
    "bare and wrapped": lambda records: wrapped([line for t in records for line in t.message.split("\n")], 90),
    "bare, who said it in front": _each(lambda t: f"[{t.at[11:16]}] sam: {t.message}"),
}
"""By name, what writes a paste."""
