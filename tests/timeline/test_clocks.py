from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report
from rebalance_forensics.timeline.group_timeline import Timeline
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_enforced_rebalance import joined_again
from tests.kafka_words import generation_of, member_id
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


def test_a_generation_told_again_later_in_a_rolled_log_tells_no_skew() -> None:
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
    told = {path: round((skew or 0) / 100) for path, skew in skews(story.timeline()).items() if path.startswith("apps")}
    assert told == {"apps/c-1.log": 25, "apps/c-2.log": 0, "apps/c-3.log": 0}


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
    for path, content in lines.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("\n".join(content) + "\n")
    return analyze([str(tmp_path)], AnalyzeOptions(engine="local"))


def test_the_zone_of_local_times_is_read_from_a_start_time_in_epoch_ms(tmp_path: Path) -> None:
    report = local_time_logs(tmp_path, hours=2)
    assert {i.path: i.zone for i in report.inputs}["c-1/app.log"] == "+02:00"
    (generation,) = report.groups[0].generations
    assert generation.started_at == ms("01:00:00.000")
