"""Laws for any input: no internal error, no line is invented or lost, and the work is bounded.

The report on a story may differ from that among damaged neighbors only in `related`, which names the incidents of other
groups. Zones, clocks and hosts belong to a cluster, and every neighbor is a separate cluster.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.fuzz.model import Find
from rebalance_forensics.pipeline.schemas import Row
from rebalance_forensics.pipeline.stats import Failure
from rebalance_forensics.report.exports import formats
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import InputSummary, Report
from rebalance_forensics.report.terminal import render
from rebalance_forensics.sources.envelopes.colours import without_colours
from rebalance_forensics.sources.files.codecs import codec_of
from rebalance_forensics.sources.lines.text import text_of

CALLS_AT_LEAST, CALLS_A_BYTE = 60_000, 300
"""Bounds of the work on one input. Typical is 7 000 calls for a kilobyte; a line of one letter, tried in every layout
and envelope, costs 600."""
EXPECTED = re.compile(
    r"is a binary file, not a log|was written by this program"
    r"|the \w+ stream is truncated|is no [\w+-]+ data|cannot be decompressed|unpacks to more than"
    r"|archive is damaged|the other members were|is encrypted|nested more than"
    r"|what came before was|is a directory without any file|has no end; it was cut|only its beginning was read"
    r"|cannot be read \(|does not exist|the JSON is cut or broken|the rest is no JSON"
    r"|is a link to |is a link, not a file|is a link that leads nowhere|cannot be looked at|is a device or a pipe"
    r"|is a \w+, not a file|is packed with|takes more than .* to unpack|its archive ends after"
    r"|the table of contents at the end of this zip|it is no archive any more"
    r"|its last line, at byte .*, is torn|begins with the rest of a record"
)
"""Sentences that the program may report for a damaged input; any other is an isolated fault of the program."""
_OUR_DEFECT = "report it as a bug"
"""The end of every sentence about a fault of the program."""
_OURS = re.compile(r'File "[^"]*(?:rebalance_forensics)/([\w/]+\.py)", line (\d+), in (\S+)')
_PLACE = re.compile(r"\(([\w/]+\.py):\d+, (\S+)\)\Z")
_HARM = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_WORD = re.compile(r"[A-Za-z0-9_]{3,}")
_ESCAPED = ("\\", '""', "#011", "#012", " P ", "^[", '","')
_ODD_ENDS = (b"\r", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""What ends a line too where a file was truncated under its writer, or glued together of several."""
_LINE_END = re.compile(rb"\r\n?|\n")
_DOCUMENT_ENTRY = 1 << 16
_PLACES = frozenset({"path", "line", "byte_offset", "id", "evidence_total", "related", "first_seen"})


def broken(error: BaseException, law: str = "an exception ended the run") -> Find:
    """The find for an exception."""
    return traced("".join(traceback.format_exception(error)), law)


def traced(text: str, law: str) -> Find:
    """The find for a printed traceback."""
    last = text.strip().splitlines()[-1]
    places = _OURS.findall(text)
    where = f"{places[-1][0]}:{places[-1][2]}" if places else "outside"
    return Find(law=law, sign=f"{last.partition(':')[0]} in {where}", detail=text)


def isolated(failure: Failure) -> Find:
    """The find for a group whose investigation failed."""
    place = _PLACE.search(failure.error)
    where = f"{place[1]}:{place[2]}" if place else "outside"
    sign = f"{failure.error.partition(':')[0]} in {where}"
    return Find(law="a group could not be investigated", sign=sign, detail=failure.error)


def complaints(summaries: Iterable[InputSummary], report: Report) -> Iterator[tuple[str, Find]]:
    """Unexpected sentences and rules that failed, by path; isolated faults count too."""
    for summary in summaries:
        for sentence in summary.errors:
            if not is_expected(sentence):
                yield summary.path, Find(law="no mistake is isolated", sign=_without_numbers(sentence), detail=sentence)
    for gap in report.gaps:
        if _OUR_DEFECT in gap.consequence and gap.kind != "failed":
            cause = re.sub(r"group .* had a case", "group … had a case", gap.what, flags=re.DOTALL)
            yield "", Find(law="no rule breaks off", sign=cause[:120], detail=gap.what)


def is_expected(sentence: str) -> bool:
    """True if the sentence is about a damaged input, not about an internal error."""
    return _OUR_DEFECT not in sentence and EXPECTED.search(sentence) is not None


def _without_numbers(sentence: str) -> str:
    return re.sub(r"\d+", "N", sentence.rpartition(": ")[2] or sentence)[:100]


def counted(summary: InputSummary, data: bytes) -> Iterator[Find]:
    """Every byte and line of a file that was read is counted."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    is_odd = codec_of(data[:512]) or any(end in data for end in _ODD_ENDS)
    if summary.bytes != len(data) and not codec_of(data[:512]):
        yield Find(
            law="every byte is counted", sign=f"bytes of {summary.layout}", detail=f"{summary.bytes} of {len(data)}"
        )
    elif summary.lines != lines and not is_odd:
        yield Find(law="every line is counted", sign=f"lines of {summary.layout}", detail=f"{summary.lines} of {lines}")


def in_place(row: Row, data: bytes, *, document: bool = False) -> Find | None:
    """A finding if an event's text is not at its offset; escaped text is compared by its first words.

    Further lines of the text (an exception, settings) may be anywhere after the first. The level and message that
    java.util.logging writes below the header are joined with it.
    """
    if codec_of(data[:512]):  # its offsets are those of the text inside
        return None
    payload = json.loads(row.payload)
    at = row.byte_offset or 0
    text, *below = payload["text"].split("\n")
    start = at + len(data[at:]) - len(data[at:].lstrip(b"\r"))
    ended = None if document else _LINE_END.search(data, start)
    line = text_of(data[start : ended.start() if ended else start + _DOCUMENT_ENTRY if document else len(data)])
    begins = document or at == 0 or data[:at].endswith((b"\n", *_ODD_ENDS))
    behind = text_of(data[at:]) if below else ""
    message = text_of(_LINE_END.split(data[ended.end() :], maxsplit=1)[0]) if ended else ""
    if (
        begins
        and (text in line or text == f"{line.rstrip()} {message.strip()}" or text.strip() in without_colours(line))
        and all(one in behind for one in below)
    ):
        return None
    words = _WORD.findall(text)[:3]
    if begins and (document or _is_escaped(line)) and all(word in line for word in words):
        return None
    detail = f"{row.path} at {at}: {text[:300]!r} is not in {line[:300]!r}"
    return Find(law="an event's text stands at its offset", sign=f"{row.event}, {row.pattern}", detail=detail)


def _is_escaped(line: str) -> bool:
    """True if a collector may have escaped or split the text; rows of CSV begin with a quote.

    Docker writes a line of more than 16 KiB as several entries, of which only the last one's text ends the line.
    """
    return line.startswith('"') or any(mark in line for mark in _ESCAPED) or '"log"' in line


def part_of(report: dict[str, Any], cluster: str) -> dict[str, Any]:
    """The part of a report about one cluster."""
    return {
        "inputs": [one for one in report["inputs"] if one["cluster"] == cluster],
        "groups": [one for one in report["groups"] if one["cluster"] == cluster],
        "incidents": [
            {key: one[key] for key in one if key != "related"}
            for one in report["incidents"]
            if one["cluster"] == cluster
        ],
    }


def said_of(report: dict[str, Any], cluster: str, group: str) -> str:
    """The part of a report about one group, without line numbers, because the other group's lines shift them."""
    parts = ([one for one in report[name] if (one["cluster"], one["group"]) == (cluster, group)] for name in _BY_GROUP)
    return json.dumps([_without_places(part) for part in parts], sort_keys=True)


_BY_GROUP = ("groups", "incidents")


def _without_places(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _without_places(held) for key, held in value.items() if key not in _PLACES}
    return [_without_places(held) for held in value] if isinstance(value, list) else value


def outputs(report: Report) -> Iterator[Find]:
    """Every output is written, and nothing in a log steers a terminal or runs in a browser."""
    try:
        text, page = render(report), to_html(report)
        json.loads(to_json(report))
        written = {name: export(report) for name, export in formats().items()}
    except Exception as error:  # noqa: BLE001 - whatever it was, it is a find
        yield broken(error, "every output can be written")
        return
    for name, output in {"terminal": text, **written}.items():
        if harm := _HARM.search(output.replace("\r\n", "\n")):
            excerpt = output[max(0, harm.start() - 40) : harm.end() + 40]
            yield Find(law="nothing steers a terminal", sign=f"{harm[0]!r} in {name}", detail=repr(excerpt))
    if "<script>alert(1)" in page:
        yield Find(law="nothing runs in the page", sign="script in html", detail="<script>alert(1) stands in the page")


def name_of(path: Path) -> str:
    """A file's name as the report writes it."""
    return path.as_posix()
