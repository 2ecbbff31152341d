"""A paste is put back as the log it was: the same messages, each at its own line of the paste."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_forensics.records import LogRecord
from rebalance_forensics.sources import pastes
from rebalance_forensics.sources.files.walk import discover
from rebalance_forensics.sources.pastes import recognition, tables
from rebalance_forensics.sources.pastes.characters import plain
from rebalance_forensics.sources.pastes.joined_records import parted
from rebalance_forensics.sources.pastes.piece import Piece
from rebalance_forensics.sources.profiles.neighbours import profile
from rebalance_forensics.sources.records.record_reader import SplitCounts, read_records
from rebalance_forensics.sources.records.splits import Split
from tests.pasting import SHAPES, Record, cut, wrapped

_COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"
_CLIENT = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
_MEMBER = "payments-2-b749f02b-154f-4c9b-92e6-f57babb332e3"
_CLOSE = f"(reason: Removing member {_MEMBER} on LeaveGroup; client reason: consumer poll timeout has expired.)"
_PREPARING = "Preparing to rebalance group payments in state PreparingRebalance with old generation 7"
_LEAVING = "sending LeaveGroup request to coordinator 127.0.0.1:19004 (id: 2147483645 rack: null)"
_CONSUMER = "[Consumer clientId=payments-2, groupId=payments]"
_STABLE = "Stabilized group payments generation 8 (__consumer_offsets-3) with 2 members"
_SAID = (
    ("consumer-2", f"{_CONSUMER} Member {_MEMBER} {_LEAVING} due to consumer poll timeout has expired. {_CLIENT}"),
    ("broker-1", f"[GroupCoordinator 1]: {_PREPARING} {_CLOSE} {_COORDINATOR}"),
    ("broker-1", f"[GroupCoordinator 1]: {_STABLE} {_COORDINATOR}"),
    ("consumer-2", f"{_CONSUMER} (Re-)joining group {_CLIENT}"),
)
TOLD = [
    Record(f"2026-11-20T10:15:{30 + at}.123Z", host, f"[2026-11-20 10:15:{30 + at},123] INFO {said}")
    for at, (host, said) in enumerate(_SAID)
]


def read(text: str, directory: Path) -> list[LogRecord]:
    """The records of a paste that say something."""
    path = directory / "paste.txt"
    path.write_text(text, newline="")
    file = discover([str(path)]).files[0]
    split = Split(file=file, profile=profile(file), index=0, start=0, end=None)
    records = chain.from_iterable(read_records(split, None, SplitCounts()))
    return [record for record in records if "payments" in record.message]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_message_is_read_whole_however_it_was_pasted(shape: str, tmp_path: Path) -> None:
    records = sorted(read(SHAPES[shape](TOLD), tmp_path), key=lambda record: record.origin.byte_offset)
    read_whole = [record.message.partition("\n")[0].rpartition(" sam: ")[2] for record in records]
    assert read_whole == [each.message for each in TOLD]


@settings(max_examples=60, deadline=None)
@given(st.integers(40, 160), st.booleans(), st.sampled_from(["", "  ", "        "]))
@example(61, True, "  ")  # noqa: FBT003
def test_lines_broken_at_any_column_are_joined_again(columns: int, inside: bool, indent: str) -> None:  # noqa: FBT001
    lines = [each.text for each in TOLD]
    text = cut(lines, columns, indent) if inside else wrapped(lines, max(columns, 60), indent)
    sentences = [entry[2].text for entry in pastes.entries(iter([text.encode()]))]
    assert sentences == lines


def test_each_record_says_on_which_line_of_the_paste_it_begins(tmp_path: Path) -> None:
    text = SHAPES["quoted twice and wrapped"](TOLD)
    for record in read(text, tmp_path):
        line = text.splitlines()[record.origin.line - 1]
        assert line.removeprefix(">> ")[:40] == record.text[:40]
        assert text.encode()[record.origin.byte_offset :].startswith(line.encode())


def test_a_whole_log_is_read_as_a_log(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    dump = "\tgroup.id = payments\n\tsession.timeout.ms = 45000\n"
    trace = "java.lang.IllegalStateException: x\n\tat kafka.Kafka.main(Kafka.scala:1)\n"
    path.write_text("".join(f"{each.text}\n{dump}{trace}" for each in TOLD * 10))
    assert profile(discover([str(path)]).files[0]).document is None


def test_records_of_one_line_have_separate_positions(tmp_path: Path) -> None:
    records = read(SHAPES["in one line"](TOLD), tmp_path)
    assert [record.origin.line for record in records] == [1] * len(TOLD)
    assert len({record.origin.byte_offset for record in records}) == len(TOLD)


def test_rows_without_a_log_line_are_walked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spreadsheet beside the logs holds thousands of rows that agree in their cells and no line of Kafka's."""
    seen: Counter[int] = Counter()

    def counted(text: str, delimiter: str) -> list[str]:
        seen[size] += 1
        return text.split(delimiter)

    monkeypatch.setattr(tables, "_cells", counted)
    for size in (500, 1_000):
        rows = [Piece(number, 0, f"2026-11-20 10:15:30,{number},Jane,Berlin") for number in range(size)]
        assert sum(len(part) for part, _ in tables._runs(rows)) == size  # noqa: SLF001 - the walk itself is what counts
    assert seen[1_000] <= 2.2 * seen[500]


def test_a_fence_next_to_the_text_belongs_to_no_name(tmp_path: Path) -> None:
    line = "INFO  [2026-11-20 10:15:30,123] [AbstractCoordinator:420] - (Re-)joining group payments"
    found = read(f"the normal case:\n\n```{line}\n{line}```\n\nand then nothing.\n", tmp_path)
    assert [record.message for record in found] == ["(Re-)joining group payments"] * 2


def test_words_in_bold_are_words_of_the_line(tmp_path: Path) -> None:
    said = "Group payments: session timed out (last error was **Local: Broker transport failure**): rejoining"
    found = read(f"It says\n\n%4|1612579319.971|SESSTMOUT|rdkafka#consumer-1| [thrd:main]: {said}\n", tmp_path)
    assert "was Local: Broker transport failure)" in found[0].message


def test_dashes_that_an_editor_made_typographic_are_plain_ones_though_half_of_the_lines_read_as_a_log() -> None:
    clocks = "[02:17:24,850] INFO [Consumer clientId=c\u20131, groupId=re\u2013reads] (Re\u2013)joining group\n"
    dates = "[2026\u201311\u201321\u00a002:17:25,382] INFO [GroupCoordinator 2]: Group re\u2013reads is empty\n"
    lines = (clocks + dates).splitlines()
    assert recognition.is_broken(clocks + dates, lines, cut=False)
    assert not recognition.is_broken(clocks, lines[:1], cut=False), "a log may well hold such dashes"


def test_texts_of_a_json_document_are_the_lines_they_hold() -> None:
    said = r"JOIN [orders-1#consumer-2] [thrd:main]: Group \"payments\": join with 1 subscribed topic(s)"
    assert plain(f'"{said}"' + "}      ") == said.replace("\\", "")


TRACE = "java.lang.IllegalStateException: payments\nat com.acme.Payments.take(Payments.java:64)"
FAILED = [Record(TOLD[0].at, "consumer-2", f"[2026-11-20 10:15:30,123] ERROR payments stop\n{TRACE}"), *TOLD[1:]]


@pytest.mark.parametrize(
    "shape", ["a Markdown table", "a spreadsheet", "a chat of JSON", "JSON in a fence", "no date", "months in French"]
)
def test_a_stack_trace_stays_with_its_record_however_it_was_pasted(shape: str, tmp_path: Path) -> None:
    records = sorted(read(SHAPES[shape](FAILED), tmp_path), key=lambda record: record.origin.byte_offset)
    assert [record.message for record in records] == [each.message for each in FAILED]


def test_the_column_next_to_the_time_of_a_spreadsheet_is_the_host(tmp_path: Path) -> None:
    records = sorted(read(SHAPES["a spreadsheet"](TOLD), tmp_path), key=lambda record: record.origin.byte_offset)
    assert [record.host for record in records] == [each.host for each in TOLD]


def test_tabs_between_time_level_and_logger_make_no_spreadsheet() -> None:
    line = "2026-11-20T10:15:30.123Z\tINFO\tkafka\t[GroupCoordinator 1]: Group payments is now empty"
    assert not tables.has_columns([line] * 3)


def test_commas_within_what_kafka_says_make_no_table(tmp_path: Path) -> None:
    said = "[Consumer clientId=payments-1, groupId=payments] Subscribed to topic(s): orders"
    records = read(f"[10:15] sam: {said}\n" * 3, tmp_path)
    assert [record.message.rpartition(" sam: ")[2] for record in records] == [said] * 3


def test_the_facts_that_kafkajs_prints_after_a_message_are_not_a_separate_record() -> None:
    line = "2026-11-20T10:15:30.123Z ERROR [Connection] Response JoinGroup(key: 11, version: 2): "
    facts = '{"timestamp":"2026-11-20T10:15:30.123Z","logger":"kafkajs","error":"The group is full"}'
    assert [piece.text for piece in parted([Piece(0, 1, line + facts)])] == [line + facts]


def test_records_without_a_date_are_separated_and_a_repeated_header_is_one() -> None:
    said = f"[10:15:30,123] INFO {_CONSUMER} (Re-)joining group"
    document = '{"@timestamp":"2026-11-20T10:15:31.123Z","message":"Group payments, 10:15:31.123 INFO {x}"}'
    joined = [piece.text for piece in parted([Piece(0, 1, f"{said} {document} {said}")])]
    assert joined == [said, document, said]
    twice = f"10:15:30.123 INFO {said}"
    assert [piece.text for piece in parted([Piece(0, 1, twice)])] == [twice]


def test_lines_that_continue_with_short_words_were_wrapped_between_words() -> None:
    lines = (
        "[2026-11-21 02:10:29,340] INFO [GroupCoordinator 3]: Group ledger with generation 2 is now empty",
        "[2026-11-21 02:11:32,255] INFO [GroupMetadataManager brokerId=3] Group ledger transitioned to Dead",
        "[2026-11-21 02:11:32,257] INFO [GroupMetadataManager brokerId=3] Removed 6 expired offsets in 7 milliseconds.",
    )
    text = wrapped(lines, 90)
    assert {len(line) for line in text.splitlines()[::2]} == {90}, "as if they were broken at a column"
    assert tuple(entry[2].text for entry in pastes.entries(iter([text.encode()]))) == lines


def test_a_word_before_a_bracket_within_a_cell_is_kafkas(tmp_path: Path) -> None:
    said = "[Consumer clientId=payments-1, groupId=payments] Finished assignment for group at generation 9: {a=b}"
    rows = "".join(f"| 2026-11-20T10:15:3{at}.123Z | node-{at} | {said} |\n" for at in range(3))
    assert [record.message for record in read(f"| time | host | message |\n|---|---|---|\n{rows}", tmp_path)] == [
        said
    ] * 3


def test_rows_of_a_csv_without_a_header_have_their_cells(tmp_path: Path) -> None:
    said = [each.message for each in TOLD]
    rows = [
        f'{each.at},"{each.message}",INFO,{each.host}'
        if "," in each.message
        else f"{each.at},{each.message},INFO,{each.host}"
        for each in TOLD
    ]
    records = sorted(read("\n".join(rows) + "\n", tmp_path), key=lambda record: record.origin.byte_offset)
    assert [(record.message, record.host) for record in records] == [
        (message, each.host) for message, each in zip(said, TOLD, strict=True)
    ]


@pytest.mark.parametrize(
    "line",
    [
        '2026-11-20T10:15:30Z {"level":"info","msg":"Group payments, is now empty","n":1}',
        '10:15:30.123 INFO {"group":"payments","generation":8,"members":2}',
        "[2026-11-20 10:15:30,123] INFO Group payments, with generation 8, is now empty",
        '2026-11-20 10:15:30,123 INFO Group payments {"a":1,"b":2}, is now empty, said "x"',
    ],
)
def test_logs_whose_messages_hold_commas_and_quotes_are_no_tables(line: str) -> None:
    assert not tables.has_columns([line] * 3)


def test_rows_that_begin_with_a_tab_keep_their_cells(tmp_path: Path) -> None:
    rows = "".join(
        f'\tFeb 21, 2026 @ 15:17:5{at}.398\t{{"level":"info","msg":"joining group","group":"payments"}}\n'
        for at in range(3)
    )
    assert [record.message for record in read(rows, tmp_path)] == ["joining group; group: payments"] * 3


@pytest.mark.parametrize("thrown", ["org.apache.kafka.common.errors.TimeoutException", "com.acme.OrderException"])
def test_an_exception_below_a_record_begins_its_stack_trace_and_is_not_the_rest_of_its_line(
    tmp_path: Path, thrown: str
) -> None:
    header = "2026-11-20 10:15:30.678 ERROR 1 --- [ntainer#0-0-C-1] o.s.k.l.KafkaMessageListenerContainer    : "
    (record,) = read(f"{header}Container exception\n{thrown}: no payments today\n", tmp_path)
    assert record.message == f"Container exception\n{thrown}: no payments today"


def test_a_sentence_with_commas_names_no_columns(tmp_path: Path) -> None:
    sentence = "Bottom line, the consumers may be too slow, and fail to poll Kafka in time, so they leave"
    assert [record.message for record in read(f"{sentence}\n\n{TOLD[1].text}\n", tmp_path)] == [TOLD[1].message]


@pytest.mark.parametrize("above", ["They look like this.\n\n", "   .. code-block:: text\n\n", "```\n"])
@pytest.mark.parametrize("envelope", ["", "consumer_1   | "])
def test_indented_code_between_paragraphs_is_a_log(above: str, envelope: str, tmp_path: Path) -> None:
    code = "\n".join(f"      {envelope}{each.text}" for each in TOLD)
    records = read(f"{above}{code}\n\nThen it goes on.\n", tmp_path)
    assert [record.message.partition("\n")[0] for record in records] == [each.message for each in TOLD]


@pytest.mark.parametrize("around", ["```json\n{}\n```\n", "For example:\n\n{}\n\nThat is normal.\n"])
def test_an_object_over_several_lines_is_a_record(around: str, tmp_path: Path) -> None:
    written = json.dumps({"level": "WARN", "logger": "kafkajs", "message": "[Runner] joins payments"}, indent=2)
    records = read(around.replace("{}", f"{written}\n{written}"), tmp_path)
    assert [record.message for record in records] == ["[Runner] joins payments"] * 2


def test_a_heading_with_a_log_line_is_a_row_and_bars_inside_an_object_separate_nothing(tmp_path: Path) -> None:
    message = "[Consumer clientId=c-1, groupId=payments] (Re-)joining group"
    written = json.dumps({"@timestamp": "2026-11-20T10:15:30Z", "thread": "heartbeat | payments", "message": message})
    table = f"| Nov 20, 2026 @ 10:15:30.860 | log: {written} |\n| --- | --- |\n"
    assert [record.message for record in read(table, tmp_path)] == [message]


def test_a_message_of_brod_stays_below_its_heading_in_a_paste_without_times() -> None:
    member = "group coordinator (groupId=payments,memberId=a@b/<0.276.0>-ef0b4e06,generation=75,pid=#PID<0.276.0>):"
    rejoining = f"[info] {member}\nre-joining group, reason::RebalanceInProgress"
    lines = [*rejoining.split("\n"), f"[info] {member}", "elected=true", "", "It then goes on."]
    begun = [entry[2] for entry in pastes.entries(iter(["\n".join(lines).encode()]))]
    assert [line.text for line in begun if line.begins] == [lines[0], lines[2], lines[5]]


def test_a_message_that_is_quoted_without_its_header_is_not_part_of_the_record_above(tmp_path: Path) -> None:
    left = "This member of payments will leave the group because consumer poll timeout has expired."
    story = f"[2026-11-20 10:15:30,123] INFO Started {_COORDINATOR}\n\nI also see this:\n\n {left} {_CLIENT}\n"
    assert [record.message.startswith(left) for record in read(story, tmp_path)] == [True]
