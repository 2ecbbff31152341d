"""The pace of production: minutes between the steps, default timeouts, the names that frameworks give."""

from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.kafka_words import member_id
from tests.story import Side, Story, clock, ms

MINUTE = 60_000
BEGIN = ms("02:00:00.000")
FIVE = [f"c-{number}" for number in range(1, 6)]
THREE = FIVE[:3]
SIDES = ["both", "brokers", "clients"]
FAILED = "Uncaught\njava.lang.IllegalStateException: boom\n\tat org.example.Main.main(Main.java:1)"


def at(minutes: float) -> str:
    """So long after the first step."""
    return clock(BEGIN + round(minutes * MINUTE))


def restarted(story: Story, everybody: list[str], step: float, down: float) -> Story:
    """One after another goes and is back `down` minutes later; the next one goes `step` minutes after the last."""
    for place, client in enumerate(everybody):
        stay = [c for c in everybody if c != client]
        closes(story, client, at(place * step), stay)
        comes(story, client, at(place * step + down), [*stay, client])
    return story


@pytest.mark.parametrize("seen", SIDES)
@pytest.mark.parametrize(("step", "down"), [(5.5, 0.3), (5.5, 4), (30, 1)])
def test_consumers_restarted_minutes_apart_are_one_rolling_restart(seen: Side, step: float, down: float) -> None:
    story = restarted(Story(seen=seen).formed(*FIVE), FIVE, step, down)
    assert story.causes() == ["rolling-restart"]
    assert story.blamed() == ["payments"]


@pytest.mark.parametrize("seen", SIDES)
@pytest.mark.parametrize("minutes", [4, 15])
def test_an_autoscaler_that_swings_slowly_is_one_flap(seen: Side, minutes: int) -> None:
    story = Story(seen=seen).formed("c-1", "c-2")
    for swing in range(0, 8 * minutes, 2 * minutes):
        comes(story, "c-3", at(swing), THREE)
        closes(story, "c-3", at(swing + minutes), ["c-1", "c-2"])
    assert story.causes() == ["scaling-flap"]
    assert story.blamed() == ["c-3"]


def crashing(seen: Side) -> Story:
    """c-3 fails five seconds after every start; its supervisor waits twice as long each time."""
    story, now = Story(seen=seen).formed(*THREE), 0.0
    for back_off in (10, 20, 40, 80, 160, 300):
        story.line("c-3/app.log", at(now - 0.002), FAILED, level="ERROR", logger="org.example.Main")
        closes(story, "c-3", at(now), ["c-1", "c-2"])
        comes(story, "c-3", at(now + back_off / 60), THREE)
        now += (back_off + 5) / 60
    return story


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_crash_loop_with_back_off_is_one_incident_of_its_exception_and_no_flap(seen: Side) -> None:
    story = crashing(seen)
    assert story.causes() == ["member-left"]
    assert story.blamed() == ["c-3"]


def test_brokers_alone_cannot_tell_a_crash_loop_from_a_flap_and_are_not_sure() -> None:
    verdict = crashing("brokers").the_incident()
    assert verdict.root_causes[0].confidence < 0.9
    assert "the log of client c-3" in {wanted.needs for wanted in verdict.would_decide}


OLD = ["pay-7c9f-aaa", "pay-7c9f-bbb", "pay-7c9f-ccc"]
NEW = ["pay-5d4e-xxx", "pay-5d4e-yyy", "pay-5d4e-zzz"]


@pytest.mark.parametrize("seen", SIDES)
@pytest.mark.parametrize(("ready", "step"), [(2, 5), (5, 6), (10, 12)])
def test_new_pods_that_join_minutes_before_the_old_ones_leave_are_a_deployment(
    seen: Side, ready: int, step: int
) -> None:
    story, inside = Story(seen=seen).formed(*OLD), list(OLD)
    for place, (old, new) in enumerate(zip(OLD, NEW, strict=True)):
        inside.append(new)
        comes(story, new, at(place * step), inside)
        inside.remove(old)
        closes(story, old, at(place * step + ready), inside)
    assert story.causes() == ["rolling-restart"]
    assert story.blamed() == ["payments"]


def test_one_added_in_the_morning_and_another_removed_at_night_are_no_deployment() -> None:
    story = comes(Story().formed(*OLD), NEW[0], at(0), [*OLD, NEW[0]])
    closes(story, OLD[0], at(600), [*OLD[1:], NEW[0]])
    assert story.causes() == ["scale-out", "scale-in"]


@pytest.mark.parametrize("seen", SIDES)
def test_a_group_that_an_autoscaler_shrinks_and_grows_at_odd_times_is_no_deployment(seen: Side) -> None:
    story, inside = Story(seen=seen).formed(*OLD), list(OLD)
    for old, new, left, joined in zip(OLD, NEW, (5, 47, 75), (10, 35, 80), strict=True):
        for moment in sorted((left, joined)):
            inside = [*inside, new] if moment == joined else [name for name in inside if name != old]
            (comes if moment == joined else closes)(story, new if moment == joined else old, at(moment), inside)
    assert "rolling-restart" not in story.causes()


@pytest.mark.parametrize("seen", SIDES)
def test_members_that_replace_each_other_all_day_are_no_deployment(seen: Side) -> None:
    story, stays = Story(seen=seen).formed("pay-1", "pay-2"), "pay-1"
    for number in range(3, 8):
        before, new = f"pay-{number - 1}", f"pay-{number}"
        closes(story, before, at(number * 30), [stays])
        comes(story, new, at(number * 30 + 6), [stays, new])
    assert "rolling-restart" not in story.causes()


@pytest.mark.parametrize("down", [0.3, 2.5])
@pytest.mark.parametrize("client", ["consumer-payments-1", "connect-payments-1"])
def test_processes_that_all_have_the_client_id_of_their_framework_are_restarted_in_turn(
    client: str, down: float
) -> None:
    lives = [member_id(client, number) for number in range(1, 9)]
    story = _started(lives[:4])
    for place in range(4):
        old, new, stay = lives[place], lives[place + 4], lives[place + 1 : place + 4]
        story.broker(at(place * 6), story.words.left(old))
        story.broker(at(place * 6), story.words.preparing(story.generation, story.words.leaving(old)))
        _settled(story, at(place * 6 + 0.01), stay)
        story.broker(at(place * 6 + down), story.words.introduced(new))
        story.broker(at(place * 6 + down), story.words.preparing(story.generation, story.words.adding(new)))
        _settled(story, at(place * 6 + down + 0.01), [*stay, new])
    assert story.causes() == ["rolling-restart"]


def test_expired_sessions_of_members_with_one_client_id_do_not_show_whether_their_processes_were_restarted() -> None:
    lives = [member_id("consumer-payments-1", number) for number in range(1, 9)]
    story = _started(lives[:4])
    for place in range(4):
        old, new, stay = lives[place], lives[place + 4], lives[place + 1 : place + 4]
        expired = f"removing member {old} on heartbeat expiration"
        story.broker(at(place * 6), story.words.failed(old))
        story.broker(at(place * 6), story.words.preparing(story.generation, expired))
        story.broker(at(place * 6 + 0.005), story.words.introduced(new))
        _settled(story, at(place * 6 + 0.01), [*stay, new])
    assert all(incident.root_causes[0].confidence < 0.75 for incident in story.case().incidents[1:])


def _started(lives: list[str]) -> Story:
    """A group that starts with these members, in its coordinator's log."""
    story = Story(seen="brokers")
    for life in lives:
        story.broker("01:00:00.000", story.words.introduced(life))
    story.broker("01:00:00.010", story.words.preparing(0, story.words.adding(lives[0])))
    _settled(story, "01:00:03.000", lives)
    return story


def _settled(story: Story, time: str, members: list[str]) -> None:
    story.generation += 1
    story.broker(time, story.words.stabilized(story.generation, len(members)))
    story.broker(time, story.words.assigned(story.generation, len(members), members[0]))


def dies_again_and_again(*, at_last: bool) -> Story:
    """c-3 is killed three times and started again by its supervisor, the last time `at_last` not."""
    story = Story(seen="brokers").formed(*THREE)
    for minute in (5, 8, 11):
        old = story.id_of("c-3")
        story.broker(at(minute), story.words.failed(old))
        story.rebalanced(at(minute + 0.001), f"removing member {old} on heartbeat expiration", ["c-1", "c-2"])
        if minute < 11 or not at_last:
            story.reborn("c-3")
            story.rebalanced(at(minute + 0.5), story.words.adding(story.id_of("c-3")), THREE)
    return story


@pytest.mark.parametrize("at_last", [True, False])
def test_a_crash_loop_seen_from_brokers_alone_is_one_incident(*, at_last: bool) -> None:
    story = dies_again_and_again(at_last=at_last).goes_on(at(60))
    incident = story.the_incident()
    assert {"process-crash", "process-pause"} <= {cause.cause for cause in incident.root_causes}
    assert incident.root_causes[0].confidence < 0.9
    assert incident.occurrences == 3


def test_a_loop_whose_last_loss_is_for_good_is_one_of_crashes() -> None:
    assert dies_again_and_again(at_last=True).goes_on(at(60)).causes() == ["process-crash"]


def stopped_and_started(seen: Side, names: list[str], minutes: float) -> Story:
    """Kubernetes' Recreate: all old pods stop, and the new ones start once the last is gone."""
    story, inside = Story(seen=seen).formed(*OLD), list(OLD)
    for place, old in enumerate(OLD):
        inside.remove(old)
        closes(story, old, at(place * 0.02), list(inside))
    for place, new in enumerate(names):
        inside.append(new)
        comes(story, new, at(minutes + place * 0.01), list(inside))
    return story.goes_on(at(minutes + 30))


@pytest.mark.parametrize("seen", SIDES)
@pytest.mark.parametrize("names", [OLD, NEW], ids=["same names", "new names"])
@pytest.mark.parametrize("minutes", [0.3, 1.5, 30])
def test_an_application_that_is_stopped_and_started_as_a_whole_shuts_down_and_starts(
    seen: Side, names: list[str], minutes: float
) -> None:
    causes = [i.root_causes[0].cause for i in stopped_and_started(seen, names, minutes).case().incidents]
    assert causes == ["startup", "shutdown", "startup"]
