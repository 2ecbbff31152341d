"""A coordinator sees that a member leaves, and what it was told (KIP-800): not what made it close."""

from __future__ import annotations

from rebalance_forensics.diagnosis.model import Incident
from tests.diagnosis.closings import closes, comes
from tests.diagnosis.test_living_threads import two_threads_each
from tests.kafka_words import member_id
from tests.story import Side, Story, ms

ALL = ["c-1", "c-2", "c-3"]
DENIED = "Topic authorization failed for topics [orders]"
UNSUBSCRIBED = "the consumer unsubscribed from all topics"


def all_close(seen: Side) -> Story:
    story = Story(seen=seen).formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    return closes(story, "c-1", "01:10:02.000", [])


def one_by_one(seen: Side) -> Incident:
    story = Story(seen=seen).formed(*ALL)
    for minute, client in enumerate(ALL, 10):
        stay = [one for one in ALL if one != client]
        closes(story, client, f"01:{minute}:00.000", stay)
        comes(story, client, f"01:{minute}:08.000", [*stay, client])
    return story.the_incident()


def asked_for(incident: Incident) -> set[str]:
    return {wanted.needs for wanted in incident.would_decide}


def test_all_members_that_close_may_have_been_denied_their_topic_and_only_their_logs_would_say_so() -> None:
    last = all_close("brokers").case().incidents[-1]
    assert last.root_causes[0].cause == "shutdown"
    assert last.root_causes[0].confidence < 0.9
    assert last.summary == "The last 2 members closed and left; the group is empty; only their own logs would show why."
    assert "the log of client c-2" in asked_for(last)


def test_their_own_logs_show_that_nothing_made_them_close() -> None:
    last = all_close("both").case().incidents[-1]
    assert last.root_causes[0].confidence == 0.9
    assert last.summary == "The last 2 members shut down cleanly; the group is empty."


def test_a_record_that_fails_one_member_after_another_looks_like_a_deployment_to_the_coordinator() -> None:
    assert one_by_one("brokers").root_causes[0].confidence < 0.9
    assert "the log of client c-1" in asked_for(one_by_one("brokers"))
    assert one_by_one("both").root_causes[0].confidence == 0.9


def test_a_member_that_closes_for_good_may_have_failed_where_its_own_log_is_missing() -> None:
    story = closes(Story(seen="brokers").formed(*ALL), "c-3", "01:10:00.000", ["c-1", "c-2"])
    incident = story.goes_on("01:20:00.000").the_incident()
    assert [cause.cause for cause in incident.root_causes] == ["scale-in", "member-left"]
    removed, failed = (cause.confidence for cause in incident.root_causes)
    assert 0.1 < failed < removed < 0.75  # "only its own log would show why"
    decides = next(wanted for wanted in incident.would_decide if wanted.needs == "the log of client c-3")
    assert {"scale-in", "member-left"} <= set(decides.between)


def test_a_stream_thread_that_leaves_did_so_by_itself_for_an_instance_that_closes_sends_no_leave_group() -> None:
    story = two_threads_each()
    gone = member_id(story.consumer(2, 1))
    story.broker("01:10:00.000", story.words.left(gone, UNSUBSCRIBED))
    story.broker("01:10:00.001", story.words.preparing(1, story.words.leaving(gone, UNSUBSCRIBED)))
    story.goes_on("01:20:00.000")
    assert story.causes() == ["member-left"]
    assert story.the_incident().root_causes[0].confidence < 0.6
    assert {"member-left", "scale-in"} <= set(story.the_incident().would_decide[0].between)


def test_a_log_that_was_collected_before_its_member_closed_shows_as_little_as_none() -> None:
    """A consumer that leaves logs its LeaveGroup; a log without that line lacks the error that stood before it."""
    story = closes(Story().formed(*ALL), "c-3", "01:10:00.000", ["c-1", "c-2"]).goes_on("01:20:00.000")
    whole = story.the_incident()
    story.events = [e for e in story.events if "c-3" not in e.speaker.file or (e.at or 0) < ms("01:09:50.000")]
    cut = story.the_incident()
    assert [i.root_causes[0].cause for i in (whole, cut)] == ["scale-in", "scale-in"]
    assert whole.root_causes[0].confidence == 0.9 > cut.root_causes[0].confidence
    assert any(need.startswith("the log of client c-3") for need in asked_for(cut))
