from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.model import Report
from rebalance_forensics.timeline.clocks.file_clocks import read_clocks
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.group_timeline import Timeline
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_enforced_rebalance import joined_again
from tests.kafka_words import CONSUMER, generation_of, member_id
from tests.story import Story, ms


def off_by(shift_ms: int) -> Timeline:
    """The story of an eviction, c-1's clock off by some milliseconds."""
    return off_by_story(shift_ms).timeline()


def off_by_story(shift_ms: int) -> Story:
    story = evicted()
    story.events = [e if e.speaker.file != "c-1/app.log" else _shifted(e, shift_ms) for e in story.events]
    return story


def _shifted(event: Event, shift_ms: int) -> Event:
    return replace(event, at=(event.at or 0) + shift_ms)


def skews(timeline: Timeline) -> dict[str, int | None]:
    return {clock.path: clock.skew_ms for clock in timeline.clocks}


def test_a_clock_that_is_fast_is_measured_against_the_broker() -> None:
    assert abs((skews(off_by(2_500))["c-1/app.log"] or 0) - 2_500) <= 50


def test_a_clock_that_is_slow_is_measured_too() -> None:
    assert abs((skews(off_by(-4_000))["c-1/app.log"] or 0) + 4_000) <= 50


def test_its_lines_are_moved_onto_the_brokers_clock() -> None:
    straight, crooked = off_by(0), off_by(2_500)
    assert [g.completed_at for g in crooked.generations] == [g.completed_at for g in straight.generations]
    assert abs(crooked.pauses[0].started_at - straight.pauses[0].started_at) <= 50


def test_a_log_without_a_fact_of_the_group_is_in_the_zone_of_the_other_in_its_directory() -> None:
    lines = [replace(event, zoned=False) for event in off_by_story(7_200_000).events]
    last = next(event for event in reversed(lines) if event.speaker.file == "c-1/app.log")
    beside = replace(last.speaker, file="c-1/shop.log")
    fatal = ev.ExceptionLogged(**in_common(last) | {"speaker": beside, "group": None}, exception="java.io.IOException")
    clocks = {place: clock for (place, _), clock in read_clocks([*lines, fatal]).items()}
    assert clocks["c-1/app.log"].zone == clocks["c-1/shop.log"].zone == "+02:00"


def test_without_a_coordinators_log_the_leaders_which_names_all_members_sets_the_clocks_of_the_others() -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    led = [e for e in story.events if e.speaker.client_id != "c-1" or not isinstance(e, ev.JoinRequested)]
    story.events = [e if e.speaker.client_id != "c-3" else _shifted(e, -190_000) for e in led]
    assert abs((skews(story.timeline())["c-3/app.log"] or 0) + 190_000) <= 50


def test_clocks_that_agree_are_left_alone() -> None:
    assert all(abs(skew or 0) <= 50 for skew in skews(off_by(0)).values())


def rolled(story: Story, client: str, time: str) -> Story:
    """What the client said from then on stands in the next file of its log."""
    story.events = [
        replace(e, speaker=replace(e.speaker, file=f"{client}/app.log.1"))
        if e.speaker.file == f"{client}/app.log" and (e.at or 0) < ms(time)
        else e
        for e in story.events
    ]
    return story


def test_a_generation_repeated_later_in_a_rolled_log_shows_no_skew() -> None:
    story = rolled(joined_again(1), "c-2", "01:05:00.000")
    assert all(abs(skew or 0) <= 50 for skew in skews(story.timeline()).values())
    assert story.causes() == ["enforced-rebalance"]


def test_a_file_of_a_rolled_log_without_a_shared_fact_has_the_clock_of_the_others() -> None:
    story = rolled(off_by_story(2_500), "c-1", "01:00:01.500")
    assert abs((skews(story.timeline())["c-1/app.log.1"] or 0) - 2_500) <= 50


def test_logs_of_several_processes_in_one_directory_have_a_clock_each() -> None:
    story = off_by_story(2_500)
    story.events = [
        replace(e, speaker=replace(e.speaker, file=f"apps/{e.speaker.file.partition('/')[0]}.log", host="apps"))
        if e.speaker.role != "broker"
        else e
        for e in story.events
    ]
    skewed = {
        path: round((skew or 0) / 100) for path, skew in skews(story.timeline()).items() if path.startswith("apps")
    }
    assert skewed == {"apps/c-1.log": 25, "apps/c-2.log": 0, "apps/c-3.log": 0}


def restarted_static_member() -> Story:
    """pod-2 is restarted ten minutes after the group formed; its log begins there, pod-1's at one o'clock."""
    story = Story(seen="clients")
    for pod, time in (("pod-1", "01:00:00"), ("pod-2", "01:10:07")):
        words = f"[Consumer instanceId={pod}, clientId={pod}, groupId=payments] "
        story.started(pod, f"{time}.000", group_instance_id=pod)
        story.line(f"{pod}/app.log", f"{time}.500", words + "(Re-)joining group")
        joined = generation_of(1, member_id(pod))
        story.line(f"{pod}/app.log", f"{time}.900", f"{words}Successfully joined group with generation {joined}")
    return story


def test_the_old_generation_that_a_static_member_is_given_again_tells_no_time() -> None:
    assert skews(restarted_static_member().timeline())["pod-2/app.log"] is None


FATAL = "Fatal error, stopping\njava.lang.IllegalStateException: no rate"


def local_time_logs(tmp_path: Path, hours: int) -> Report:
    """A broker in UTC and a client of Spring Boot 2 that logs local time."""
    member = member_id("c-1")
    broker = Story().words
    lines = {
        "broker-2/server.log": [
            f"[2026-03-01 01:00:00,000] INFO {broker.preparing(0, broker.adding(member))} ({broker.logger})",
            f"[2026-03-01 01:00:03,000] INFO {broker.stabilized(1, 1)} ({broker.logger})",
            f"[2026-03-01 01:00:03,020] INFO {broker.assigned(1, 1, member)} ({broker.logger})",
        ],
        "c-1/app.log": [
            f"2026-03-01 {1 + hours:02}:00:02.{at}  INFO 6 --- [           main] {text}"
            for at, text in (
                ("100", "o.a.kafka.common.utils.AppInfoParser     : Kafka version: 3.9.1"),
                ("101", f"o.a.kafka.common.utils.AppInfoParser     : Kafka startTimeMs: {ms('01:00:02.101')}"),
                ("990", f"o.a.k.c.c.internals.ConsumerCoordinator  : {Story().of('c-1').joined(1, member)}"),
            )
        ],
    }
    lines["c-1/shop.log"] = [
        f"2026-03-01 {1 + hours:02}:00:03.500 ERROR 6 --- [           main] com.acme.Shop : {FATAL}"
    ]
    for path, content in lines.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("\n".join(content) + "\n")
    return analyze([str(tmp_path)], AnalyzeOptions(engine="local"))


def test_the_zone_of_local_times_is_read_from_a_start_time_in_epoch_ms(tmp_path: Path) -> None:
    report = local_time_logs(tmp_path, hours=2)
    zones = {i.path: i.zone for i in report.inputs}
    assert (zones["c-1/app.log"], zones["c-1/shop.log"], zones["broker-2/server.log"]) == ("+02:00", "+02:00", "UTC")
    (generation,) = report.groups[0].generations
    assert generation.started_at == ms("01:00:00.000")


DAY_MS = 24 * 3_600_000
APP_INFO = "org.apache.kafka.common.utils.AppInfoParser"


def life(story: Story, member: str, at: int, *, on_clients: bool = True, generations: int = 3) -> None:
    """A group that is made anew reaches the same generations, a minute apart, with a member of its own."""
    for number in range(1, generations + 1):
        time = at + number * 60_000
        stamped(story, "broker-2/server.log", time, story.words.preparing(number - 1, story.words.adding(member)))
        stamped(story, "broker-2/server.log", time + 10, story.words.stabilized(number, 1))
        stamped(story, "broker-2/server.log", time + 20, story.words.assigned(number, 1, member))
        if on_clients:
            joined = story.of("c-1").joined(number, member)
            assert joined is not None
            stamped(story, "c-1/app.log", time + 11, joined)


def stamped(story: Story, path: str, at: int, message: str, *, zoned: bool = True, logger: str | None = None) -> None:
    """One line at an instant of any day."""
    story.line(path, "01:00:00.000", message, logger=logger or (story.words.logger if "broker" in path else CONSUMER))
    story.events[-1] = replace(story.events[-1], at=EpochMs(at), zoned=zoned)


def test_a_generation_of_another_life_of_the_group_is_no_clock() -> None:
    """The brokers' logs go back to a group of that name that was deleted, the clients' do not."""
    story, today = Story(), ms("01:00:00.000")
    life(story, member_id("c-1", 1), today - 10 * DAY_MS, on_clients=False)
    life(story, member_id("c-1", 2), today)
    clock = next(clock for clock in story.timeline().clocks if clock.path == "c-1/app.log")
    assert clock.shift_ms == 0
    assert abs(clock.skew_ms or 0) <= 50


def test_a_generation_of_a_member_whom_the_coordinator_does_not_know_is_no_clock() -> None:
    story, today = Story(), ms("01:00:00.000")
    life(story, member_id("c-1", 1), today - 3_600_000, on_clients=False, generations=1)
    joined = story.of("c-1").joined(1, member_id("c-1", 7))
    assert joined is not None
    stamped(story, "c-1/app.log", today, joined, zoned=False)
    clock = next(clock for clock in story.timeline().clocks if clock.path == "c-1/app.log")
    assert (clock.shift_ms, clock.zone) == (0, None)


def test_a_client_that_prints_its_zone_has_a_clock_that_is_off_and_no_other_zone() -> None:
    for minutes in (11, 16, 40):
        clock = next(c for c in off_by(minutes * 60_000).clocks if c.path == "c-1/app.log")
        assert clock.zone == "UTC"
        assert abs((clock.skew_ms or 0) - minutes * 60_000) <= 50


def test_a_clock_that_is_days_off_moves_nothing_and_is_a_gap() -> None:
    story = off_by_story(3 * DAY_MS)
    clock = next(clock for clock in story.timeline().clocks if clock.path == "c-1/app.log")
    assert (clock.shift_ms, clock.doubt) == (0, "facts")
    assert any("c-1/app.log differ from the coordinator's" in gap.what for gap in story.case().gaps)


@pytest.mark.parametrize("late_ms", [8 * 60_000, 26 * 3_600_000, -262 * DAY_MS])
def test_start_lines_of_no_zone_that_there_is_make_no_zone(late_ms: int) -> None:
    story = evicted()
    at = ms("00:59:00.000")
    stamped(story, "broker-2/server.log", at, f"Kafka startTimeMs: {at - late_ms}", zoned=False, logger=APP_INFO)
    clock = next(clock for clock in story.timeline().clocks if clock.path == "broker-2/server.log")
    assert (clock.shift_ms, clock.doubt) == (0, "start-times")
    assert any("do not match the start times" in gap.what for gap in story.case().gaps)


def test_each_part_of_a_log_has_the_zone_of_its_start_line() -> None:
    """Summer time ended between two starts of a broker that prints local time."""
    story, summer = Story(), ms("01:00:00.000")
    for day, hours in ((0, 2), (2, 1)):
        begin = len(story.events)
        start = summer + day * DAY_MS
        stamped(story, "broker-2/server.log", start, f"Kafka startTimeMs: {start}", logger=APP_INFO)
        life(story, member_id("c-1", day), start, on_clients=False)
        story.events[begin:] = [
            replace(e, at=EpochMs((e.at or 0) + hours * 3_600_000), zoned=False) for e in story.events[begin:]
        ]
    timeline = story.timeline()
    assert [clock.zone for clock in timeline.clocks] == ["+02:00, then +01:00"]
    completed = [generation.completed_at for generation in timeline.generations if generation.generation == 1]
    assert [at is not None and at // DAY_MS for at in completed] == [summer // DAY_MS, summer // DAY_MS + 2]


def test_brokers_that_print_no_zone_have_that_of_clients_who_do() -> None:
    story = evicted()
    story.events = [
        replace(e, at=EpochMs((e.at or 0) + 2 * 3_600_000), zoned=False) if e.speaker.role == "broker" else e
        for e in story.events
    ]
    clocks = {clock.path: clock for clock in story.timeline().clocks}
    assert clocks["broker-2/server.log"].zone == "+02:00"
    assert (clocks["c-1/app.log"].zone, abs(clocks["c-1/app.log"].skew_ms or 0) <= 50) == ("UTC", True)


def brokers_of_one_cluster(
    ahead_ms: int, *, stood_still_ms: int = 0, with_facts: tuple[int, ...] = (1, 2, 3), rolled: bool = False
) -> dict[str, int]:
    """What the clocks of three brokers are off by, broker-3's ahead; it saw new leaders late if it stood still."""
    story, at = Story(), ms("01:00:00.000")
    for broker in (1, 2, 3):
        path, ahead = f"broker-{broker}/server.log", ahead_ms * (broker == 3)
        start = at + ahead
        stamped(story, path, start, f"Kafka startTimeMs: {start}", logger=APP_INFO)
        if rolled:
            older = path.replace("server.log", "server.2.log")
            stamped(story, older, start - 60_000, f"Kafka startTimeMs: {start - 60_000}", logger=APP_INFO)
        if broker not in with_facts:
            continue
        if not stood_still_ms:
            created = "Created log for partition orders-1 in /data/orders-1 with properties {}"
            stamped(story, path, start + 100 * broker, created, logger="kafka.log.LogManager")
        for partition in (1, 2):
            role = "Elected" if broker == 1 else "Resigned"
            words = f"[GroupCoordinator {broker}]: {role} as the group coordinator for partition {partition} in epoch "
            epoch = "7" if broker == 1 else "OptionalInt[7]"
            late = stood_still_ms * (broker == 3)
            stamped(story, path, start + 5_000 + late, words + epoch, logger=Story().words.logger)
    numbers = {
        e.origin.path: int(e.origin.path[len("broker-")]) for e in story.events if "server.2" not in e.origin.path
    }
    events = [
        replace(e, speaker=replace(e.speaker, role="broker", broker=numbers.get(e.origin.path))) for e in story.events
    ]
    return {path: skew for (path, _), skew in UngroupedEvents(events).broker_skews.items()}


@pytest.mark.parametrize("ahead_ms", [-300_000, -5_000, 5_000, 20_000, 200_000])
def test_a_brokers_clock_is_set_by_most_brokers(ahead_ms: int) -> None:
    (skew,) = brokers_of_one_cluster(ahead_ms).items()
    assert skew[0] == "broker-3/server.log"
    assert abs(skew[1] - ahead_ms) <= 1_000


def test_a_rolled_log_that_names_no_broker_has_the_clock_of_the_broker_in_its_directory() -> None:
    skews = brokers_of_one_cluster(20_000, rolled=True)
    assert skews.keys() == {"broker-3/server.log", "broker-3/server.2.log"}
    assert len(set(skews.values())) == 1


def test_of_two_clocks_that_differ_none_is_set_where_a_third_broker_cannot_be_compared() -> None:
    assert brokers_of_one_cluster(20_000, with_facts=(2, 3)) == {}


def test_a_broker_that_learns_late_of_new_leaders_was_paused_and_has_the_clock_of_the_others() -> None:
    assert brokers_of_one_cluster(0, stood_still_ms=20_000) == {}


@pytest.mark.parametrize("shift_ms", [-190_000, -35_000, 20_000])
def test_a_static_member_of_the_first_generation_shows_its_hosts_clock(shift_ms: int) -> None:
    story, member = Story(), "c-1-5d1f4f43-0c43-4f2c-8a57-0a1c0a4e7f11"
    words = "[Consumer instanceId=c-1, clientId=c-1, groupId=payments] "
    stamped(story, "broker-2/server.log", ms("01:00:00.000"), story.words.preparing(0, story.words.adding(member)))
    stamped(story, "broker-2/server.log", ms("01:00:03.000"), story.words.stabilized(1, 1))
    stamped(story, "c-1/app.log", ms("01:00:00.000") + shift_ms, words + "(Re-)joining group")
    joined = f"{words}Successfully joined group with generation {generation_of(1, member)}"
    stamped(story, "c-1/app.log", ms("01:00:03.010") + shift_ms, "Kafka version: 3.9.1", logger=APP_INFO)
    stamped(story, "c-1/app.log", ms("01:00:03.010") + shift_ms, joined)
    assert abs((skews(story.timeline())["c-1/app.log"] or 0) - shift_ms) <= 50
