from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.coverage import LogSpan, logs_read
from tests.story import Story, ms


def part(start: int, opening: int | None, closing: int | None) -> LogSpan:
    """A part of one log; its times as its own clock says."""
    first, last = (None if at is None else EpochMs(at) for at in (opening, closing))
    return LogSpan(path="app.log", host=None, opening=first, closing=last, start=start)


def test_a_clock_at_the_epoch_is_a_valid_time() -> None:
    """A machine without a battery begins in 1970, until a time server is heard."""
    read = logs_read([part(0, 0, 0), part(100, 5_000, 9_000)])
    assert read["app.log", None][:2] == (0, 9_000)


def test_parts_without_a_time_say_nothing_of_how_far_a_log_was_read() -> None:
    assert logs_read([part(0, None, None), part(100, 5_000, 9_000)])["app.log", None][:2] == (5_000, 9_000)
    assert logs_read([part(0, None, None)])["app.log", None][:2] == (None, None)


def test_a_log_that_several_consumers_share_lasts_though_none_of_them_says_more() -> None:
    story = Story(seen="clients")
    for client in ("c-1", "c-2"):
        joined = story.of(client).joined(1, story.id_of(client))
        assert joined is not None
        story.line("app/app.log", "01:00:00.000", joined)
    hour = ms("02:00:00.000")
    whole = LogSpan(path="app/app.log", host="app", opening=EpochMs(hour - 3_600_000), closing=EpochMs(hour))
    timeline = build("default", story.group, story.events, UngroupedEvents([], logs_read([whole])))
    assert timeline.coverage.end == hour
    assert [timeline.coverage.ends(member) for member in timeline.membership.members] == [ms("01:00:00.000")] * 2


def test_lines_without_any_time_are_an_excerpt_however_they_came_into_the_file() -> None:
    lines = LogSpan(path="app.log", host=None, opening=None, closing=None, lines="plain", records=5, about_groups=5)
    assert logs_read([lines])["app.log", None].excerpt
    assert not logs_read([replace(lines, opening=EpochMs(0), closing=EpochMs(9))])["app.log", None].excerpt


def test_a_brokers_log_of_the_next_day_does_not_make_the_log_of_its_group_last_until_then() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    end, next_day = max(e.at or 0 for e in story.events), 24 * 3_600_000
    (path,) = {e.origin.path for e in story.events}
    host = story.events[0].speaker.host
    of_both = [replace(story.events[-1], group=None, at=EpochMs(end + later)) for later in (1_000, next_day)]
    first = LogSpan(path=path, host=host, opening=EpochMs(ms("01:00:00.000")), closing=EpochMs(end + 1_000))
    second = LogSpan(path="server.log.2", host=host, opening=EpochMs(end + next_day), closing=EpochMs(end + next_day))
    rolled = replace(second, opening=EpochMs(end + 1_100))

    def lasts(*spans: LogSpan) -> int:
        timeline = build("default", story.group, story.events, UngroupedEvents(of_both, logs_read(spans)))
        return timeline.coverage.end

    assert lasts(first, second) == end + 1_000
    assert lasts(first, rolled) == end + next_day
