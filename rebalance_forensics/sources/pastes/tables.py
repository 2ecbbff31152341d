"""Reads pasted tables (Markdown, spreadsheets, CSV): the cell with the log line, and those with time and host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from rebalance_forensics.sources.envelopes.base import Line, Placed, instant
from rebalance_forensics.sources.envelopes.csv_rows import cells_of
from rebalance_forensics.sources.layouts.base import LEVEL
from rebalance_forensics.sources.layouts.json_field_names import HOSTS, TEXTS, TIMES, is_called
from rebalance_forensics.sources.layouts.json_fields import object_of
from rebalance_forensics.sources.pastes.piece import Piece, looks_like_record
from rebalance_forensics.sources.times.timestamps import read_stamp

_RULE = re.compile(r"[\s:|+=]*+-[\s:|+=-]*+\Z")
_BAR = re.compile(r"(?<!\\)\|")
_KEY = re.compile(r"\A[\w.@-]{1,40}: (?=[{\[])")
_LEVEL = re.compile(LEVEL)
_MORE_THAN_TIME = re.compile(rf"[{{}}\"()=<>#]|\b{LEVEL}\b")
_THOUSANDTHS = re.compile(r"\d{3}(?!\w)")
_HOST = re.compile(r"[A-Za-z][\w.:/-]{0,80}\Z")
_LEAST_BARS = 2
_LONGEST_TIME = 40
_LONGEST_NAME = 40
_SHORTEST_LINE = 12
_OPEN_CELL = re.compile(r"(?P<before>.*)(?P<between>[\t,;])\"(?:[^\"]|\"\")*\Z", re.DOTALL)
_CELL_ENDS = re.compile(r"(?:[^\"]|\"\")*\"(?:[\t,;]|\Z)")
# Maximum number of lines in a cell: the stack trace of a record.
_LONGEST_CELL = 400


class _Columns(Struct, frozen=True):
    """The indexes of the cells, if the first row names them."""

    text: int | None = None
    time: int | None = None
    host: int | None = None


def has_rule(lines: Sequence[str]) -> bool:
    """True if the lines include the separator row of a Markdown table."""
    return any("|" in line and line.count("-") > 1 and _RULE.match(line) for line in lines)


def has_rows(lines: Sequence[str]) -> bool:
    """True if most lines are rows of a Markdown table whose separator row was not copied."""
    lines_with_text = [line for line in lines if line.strip()]
    rows = [
        line
        for line in lines_with_text
        if line.startswith("|") and line.endswith("|") and line.count("|") > _LEAST_BARS
    ]
    return 2 * len(rows) > len(lines_with_text)


def has_columns(lines: Sequence[str]) -> bool:
    """True if most lines are rows of a spreadsheet with a time and a log line."""
    lines_with_text = [line for line in lines if line.strip()]
    for delimiter in "\t,;":
        rows = [line for line in lines_with_text if _may_be_row(line, delimiter)]
        if 2 * len(rows) > len(lines_with_text) and _are_columns(rows, delimiter):
            return any(_is_line(cell) for line in rows for cell in _cells(line, delimiter))
    return False


def _are_columns(rows: Sequence[str], delimiter: str) -> bool:
    """True if the delimiter separates cells: messages also contain commas, but are then quoted."""
    return delimiter == "\t" or any(f'{delimiter}"' in row for row in rows)


def _may_be_row(line: str, delimiter: str) -> bool:
    """True for a line that may be a row of a spreadsheet: a time and at least two more cells."""
    # Loggers that separate fields by tabs print the level; Log4j prints a comma before the milliseconds.
    if line.count(delimiter) < _LEAST_BARS:
        return False
    cells = _cells(line, delimiter)
    if len(cells) <= _LEAST_BARS or not _is_time(cells[0]) or _MORE_THAN_TIME.search(cells[0]):
        return False
    if _THOUSANDTHS.match(cells[1]):
        return False
    return delimiter != "\t" or not any(map(_LEVEL.fullmatch, cells))


def has_open_cells(lines: Sequence[str]) -> bool:
    """True if a cell next to a time has several lines."""
    pieces = [Piece(0, 0, line) for line in lines]
    return any(_lines_of_row(pieces, at) > 1 for at in range(len(pieces)))


def split(pieces: Sequence[Piece]) -> list[Piece | Placed]:
    """The pieces, with table rows converted to lines."""
    done: list[Piece | Placed] = []
    for run, delimiter in _runs(_with_whole_cells(pieces)):
        if delimiter is None:
            done.extend(run)
            continue
        columns = _Columns()
        for piece, following in zip(run, [*run[1:], None], strict=True):
            cells = _cells(piece.text, delimiter)
            if named := _named(cells):
                columns = named
            elif not _RULE.match(piece.text) and (any(map(_is_line, cells)) or not _is_heading(following)):
                done.append(_row(piece, cells, columns))
    return done


def _is_heading(following: Piece | None) -> bool:
    """True for the row above a separator row."""
    return following is not None and _RULE.match(following.text) is not None


def _with_whole_cells(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, with rows joined whose quoted cells have several lines, as spreadsheets export them."""
    done: list[Piece] = []
    at = 0
    while at < len(pieces):
        size = _lines_of_row(pieces, at)
        done.append(pieces[at].reading("\n".join(piece.text for piece in pieces[at : at + size])))
        at += size
    return done


def _lines_of_row(pieces: Sequence[Piece], at: int) -> int:
    """The number of pieces in a row; an unclosed quote, or one in a row without a time, does not start a cell."""
    opened = _OPEN_CELL.match(pieces[at].text) if '"' in pieces[at].text else None
    if opened is None or not any(map(_is_time, _cells(opened["before"], opened["between"]))):
        return 1
    following = islice(pieces, at + 1, at + _LONGEST_CELL)
    return next((size for size, piece in enumerate(following, 2) if _CELL_ENDS.match(piece.text)), 1)


def _cells(text: str, delimiter: str) -> list[str]:
    if delimiter == "|":
        inner = text.strip().removeprefix("|")
        inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
        cells = _whole_objects(_BAR.split(inner)) if '{"' in inner else _BAR.split(inner)
        return [cell.strip().replace("\\|", "|").strip("`") for cell in cells]
    return [cell.strip() for cell in cells_of([text], delimiter)]


def _whole_objects(cells: Sequence[str]) -> list[str]:
    """The cells, with JSON objects joined whose texts contain bars, as thread names do."""
    done: list[str] = []
    for at, cell in enumerate(cells):
        if done and '{"' in done[-1] and object_of(_object_in(done[-1])) is None and "}" in "".join(cells[at:]):
            done[-1] += f"|{cell}"
        else:
            done.append(cell)
    return done


def _object_in(cell: str) -> str:
    return cell[cell.index('{"') :].strip(" `")


def _runs(pieces: Sequence[Piece]) -> Iterator[tuple[list[Piece], str | None]]:
    """Runs of rows of one table with their delimiter, and other pieces, each with None."""
    at = 0
    barren: _Barren = {}
    while at < len(pieces):
        tables = ((size, each) for each in "|\t,;" if (size := _table_at(pieces, at, each, barren)))
        size, delimiter = next(tables, (1, None))
        yield list(pieces[at : at + size]), delimiter
        at += size


# Delimiter and number of cells -> the end of rows without a log line: a table that starts before it has none either.
_Barren = dict[tuple[str, int], int]


def _table_at(pieces: Sequence[Piece], at: int, delimiter: str, barren: _Barren) -> int:
    """The number of table rows from here on with the same number of cells; 0 if no table starts here."""
    first = pieces[at].text
    if delimiter not in first or (delimiter == "|") != first.lstrip().startswith("|"):
        return 0
    if looks_like_record(first) and not _may_be_row(first, delimiter):
        return 0
    cells = _cells(first, delimiter)
    count = len(cells)
    # Kafka's messages also contain commas: a row separated by commas must have its own time or name its columns.
    if delimiter in ",;" and not (any(map(_is_time, cells)) or _named(cells)):
        return 0
    if count < 2 or at < barren.get((delimiter, count), 0):
        return 0
    size, has_log_line = 0, False
    for piece in islice(pieces, at, None):
        cells = _cells(piece.text, delimiter)
        if not piece.text.strip() or not (_RULE.match(piece.text) or len(cells) == count):
            break
        # Records, and parts of wrapped ones, also contain commas.
        if looks_like_record(piece.text) and not _may_be_row(piece.text, delimiter):
            break
        size += 1
        has_log_line = has_log_line or any(map(_is_line, cells))
    rows = [piece.text for piece in pieces[at : at + size]]
    has_log_line = has_log_line and (not looks_like_record(first) or _are_columns(rows, delimiter))
    if not has_log_line:
        barren[delimiter, count] = at + size
    return size if has_log_line and (size > 1 or delimiter == "|") else 0


def _is_line(cell: str) -> bool:
    return len(cell) >= _SHORTEST_LINE and looks_like_record(_KEY.sub("", cell)) and not _is_time(cell)


def _is_time(cell: str) -> bool:
    return 0 < len(cell) <= _LONGEST_TIME and read_stamp(cell.strip("[]\"'")) is not None


def _named(cells: Sequence[str]) -> _Columns | None:
    """The columns named by a heading row; None for any other row."""
    if any(len(cell) > _LONGEST_NAME or _is_time(cell) or looks_like_record(cell) for cell in cells):
        return None
    text = _first(cells, TEXTS)
    if text is None:
        return None
    return _Columns(text=text, time=_first(cells, TIMES), host=_first(cells, HOSTS))


def _first(cells: Sequence[str], names: Sequence[str]) -> int | None:
    return next((index for index, cell in enumerate(cells) if cell and is_called(cell, names)), None)


def _row(piece: Piece, cells: Sequence[str], columns: _Columns) -> Placed:
    """The log line in a row, with the time and host next to it."""
    text = columns.text if columns.text is not None and columns.text < len(cells) else _longest(cells)
    others = [index for index in range(len(cells)) if index != text]
    time = columns.time if columns.time in others else next((i for i in others if _is_time(cells[i])), None)
    host = columns.host
    if columns.text is None:
        host = next(
            (i for i in others if i != time and _HOST.match(cells[i]) and any(c in cells[i] for c in "-.0123456789")),
            None,
        )
    written = cells[time].strip("[]\"'") if time is not None else ""
    stamp = read_stamp(written) if written else None
    zoned = stamp is not None and stamp.form == "full" and stamp.offset_minutes is not None
    return (
        piece.offset,
        piece.number,
        Line(
            text=_KEY.sub("", cells[text]),
            at=instant(written) if zoned else None,
            local=None if zoned else stamp,
            host=cells[host] or None if host is not None and host in others else None,
            begins=True,
        ),
    )


def _longest(cells: Sequence[str]) -> int:
    """The index of the cell with the log line: one that starts a record, else the longest that is not a time."""
    return max(range(len(cells)), key=lambda i: (_is_line(cells[i]), not _is_time(cells[i]), len(cells[i])))
