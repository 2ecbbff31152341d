from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.catalog.event_assembly import event_of
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.rebalances import GenerationStabilized, RebalanceStarted
from rebalance_forensics.records import EpochMs, LogRecord, Origin

CATALOG = Catalog.load()
STABILIZED = "[GroupCoordinator 1]: Stabilized group payments generation 5 (__consumer_offsets-13) with 3 members"


def _record(message: str) -> LogRecord:
    return LogRecord(
        origin=Origin(path="b1/server.log", byte_offset=0, line=1),
        at=EpochMs(1),
        zoned=False,
        level="INFO",
        logger="kafka.coordinator.group.GroupCoordinator",
        thread="executor-Rebalance",
        message=message,
        text=message,
    )


def test_every_event_says_in_its_docstring_what_it_is() -> None:
    assert [name for name, cls in EVENT_TYPES.items() if not (cls.__doc__ or "").strip()] == []


def test_a_match_and_its_record_make_an_event() -> None:
    match = CATALOG.match(STABILIZED)
    assert match is not None
    event = event_of(match, _record(STABILIZED), cluster="east", host="b1", component="broker")
    assert isinstance(event, GenerationStabilized)
    assert (event.group, event.generation, event.member_count, event.cluster) == ("payments", 5, 3, "east")
    assert (event.speaker.role, event.speaker.broker, event.speaker.host) == ("broker", 1, "b1")
    assert event.speaker.component == "GroupCoordinator"


def test_a_time_beyond_every_calendar_is_no_time() -> None:
    match = CATALOG.match(STABILIZED)
    assert match is not None
    late = replace(_record(STABILIZED), at=EpochMs(10**17))
    event = event_of(match, late, cluster="east", host="b1", component="broker")
    assert event is not None
    assert event.at is None


def test_a_reason_inside_a_line_becomes_fields() -> None:
    message = (
        "[GroupCoordinator id=1 topic=__consumer_offsets partition=13] Preparing to rebalance group payments in state "
        "PreparingRebalance with old generation 4 (reason: Adding new member c-1-77aa with group instance id null; "
        "client reason: not provided)."
    )
    match = CATALOG.match(message)
    assert match is not None
    event = event_of(match, _record(message), cluster="east", host=None, component=None)
    assert isinstance(event, RebalanceStarted)
    assert (event.trigger, event.members, event.generation) == ("member-added", ("c-1-77aa",), 4)
    assert event.speaker.offsets_partition == 13


def test_the_offsets_partition_may_be_the_first_one() -> None:
    match = CATALOG.match("[GroupCoordinator 1]: Stabilized group payments generation 4 (__consumer_offsets-0)")
    assert match is not None
    assert match.speaker.offsets_partition == 0


def test_a_line_that_says_nothing_about_groups_is_known_and_makes_no_event() -> None:
    quiet = next(entry for entry in CATALOG.compiled.entries if entry.event is None and not entry.program.placeholders)
    match = CATALOG.match(quiet.program.lead)
    assert match is not None
    assert match.event is None
    assert event_of(match, _record(quiet.program.lead), cluster="east", host=None, component=None) is None


def test_settings_are_quoted_with_the_names_they_give() -> None:
    message = "ConsumerConfig values: \n\tclient.id = orders-1\n\tfetch.max.bytes = 52428800\n\tgroup.id = payments\n"
    record = replace(_record(message), text="ConsumerConfig values: ")
    match = CATALOG.match(message)
    assert match is not None
    event = event_of(match, record, cluster="east", host="app-1", component="consumer")
    assert event is not None
    assert event.text.split("\n") == ["ConsumerConfig values: ", "client.id = orders-1", "group.id = payments"]
