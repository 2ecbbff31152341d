from __future__ import annotations

from rebalance_forensics.timeline.model import Identity
from tests.diagnosis.expiries import evicted
from tests.diagnosis.threads import PROCESS, shop
from tests.kafka_words import member_id
from tests.story import Story


def known(story: Story) -> dict[str, Identity]:
    return {i.name: i for i in story.history().identities}


def test_a_member_keeps_its_identity_through_new_member_ids() -> None:
    story = evicted().reborn("c-3")
    story.rebalanced("01:10:20.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert set(known(story)["c-3"].member_ids) == {member_id("c-3", 1), member_id("c-3", 2)}


def test_its_log_and_its_host_are_names_too() -> None:
    identity = known(Story().formed("c-1", "c-2"))["c-1"]
    assert {"c-1/app.log", member_id("c-1")} <= set(identity.names)
    assert (identity.host, identity.files) == ("c-1", ("c-1/app.log",))


def test_it_is_valid_from_its_first_to_its_last_line() -> None:
    identity = known(evicted())["c-3"]
    assert (identity.started_at or 0) < (identity.ended_at or 0)


def test_a_streams_instance_holds_its_threads() -> None:
    instance = known(shop())["node-1"]
    assert instance.kind == "instance"
    assert f"{PROCESS[1]}-StreamThread-1" in instance.names


def test_librdkafka_tells_the_id_that_it_makes_for_itself_under_kip_848() -> None:
    story = Story(release=(4, 1))
    made = 'MEMBERID [orders-1#consumer-1] [thrd:app]: Group "payments": updating member id "(not-set)" -> "{}"'
    story.line("node-1/app.log", "01:00:00.000", made.format("A8LbKxXXSnaP9YKuq48XIw"), logger="app.rdkafka")
    story.broker(
        "01:00:01.000",
        "[GroupCoordinator id=2 topic=__consumer_offsets partition=13] [GroupId payments] "
        "Member A8LbKxXXSnaP9YKuq48XIw joins the consumer group using the consumer protocol.",
    )
    (arrival,) = story.timeline().arrivals
    assert "orders-1" in arrival.participant.client_ids
