from __future__ import annotations

from tests.diagnosis.closings import closes
from tests.story import Side, Story

DENIED = "Topic authorization failed for topics [orders]"
DENIED_GROUP = "Not authorized to access group: payments"


def test_a_member_that_may_not_read_the_topic_is_blamed() -> None:
    story = Story().formed("c-1", "c-2").started("c-3", "01:10:00.000")
    story.client("c-3", "01:10:00.500", DENIED, level="ERROR", logger="org.apache.kafka.clients.Metadata")
    assert story.causes() == ["authorization-failure"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "warning"


def test_a_group_that_is_denied_in_the_heartbeat_thread_is_a_refusal_too() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.500", "A group authorization error occurred in the heartbeat thread", level="ERROR")
    assert story.causes() == ["authorization-failure"]


def test_no_client_is_denied_in_a_healthy_group() -> None:
    assert Story().formed("c-1", "c-2").causes() == []


def test_a_group_that_loses_its_rights_is_neither_silent_nor_without_a_coordinator() -> None:
    story = Story(release=(2, 4)).formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        commit = "Offset commit failed on partition orders-1 at offset 64: Not authorized to access group: "
        story.client(client, "01:10:00.000", commit + "Group authorization failed.", level="ERROR")
        lost = "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid, will attempt "
        story.client(client, "01:10:05.000", lost + "rediscovery")
        thrown = f"Stopping\norg.apache.kafka.common.errors.GroupAuthorizationException: {DENIED_GROUP}"
        story.line(f"{client}/app.log", "01:10:05.050", thrown, level="ERROR", logger="com.acme.Worker")
        expired = f"Member {story.id_of(client)} in group payments has failed, removing it from the group"
        story.says("01:10:09.000", expired)
    assert story.causes() == ["authorization-failure"]
    assert story.the_incident().severity == "critical"


def test_the_generation_in_which_the_group_formed_owes_nothing_to_a_later_denial() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:00:40.000", "A group authorization error occurred in the heartbeat thread", level="ERROR")
    assert story.the_incident().generations == ()


def test_the_denial_of_another_group_in_the_same_process_is_not_this_groups() -> None:
    story = Story().formed("c-1", "c-2")
    thrown = "Stopping\norg.apache.kafka.common.errors.GroupAuthorizationException: " + DENIED_GROUP
    story.line("c-1/app.log", "01:10:00.000", thrown.replace("payments", "reports"), level="ERROR", logger="com.acme.W")
    assert story.causes() == []


def test_the_advice_names_the_group_that_was_denied() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.500", "A group authorization error occurred in the heartbeat thread", level="ERROR")
    cause = story.the_incident().root_causes[0]
    assert cause.narrative == "c-2 is not authorized to access group payments."
    assert cause.advice[0].action == "Grant the principal of c-2 READ on group payments."
    assert cause.advice[0].why == "READ implies DESCRIBE. The broker denied it once."


def test_the_group_and_a_topic_that_were_denied_are_both_named() -> None:
    story = Story().formed("c-1", "c-2").started("c-3", "01:10:00.000")
    story.client("c-3", "01:10:00.500", DENIED, level="ERROR", logger="org.apache.kafka.clients.Metadata")
    story.client("c-3", "01:10:00.600", "A group authorization error occurred in the heartbeat thread", level="ERROR")
    cause = story.the_incident().root_causes[0]
    assert cause.narrative == "c-3 is not authorized to access group payments and topic orders."
    assert "The broker denied it twice" in cause.advice[0].why


def test_where_only_topics_were_denied_the_advice_names_them_and_no_right_on_the_group() -> None:
    story = Story().formed("c-1", "c-2").started("c-3", "01:10:00.000")
    story.client("c-3", "01:10:00.500", DENIED, level="ERROR", logger="org.apache.kafka.clients.Metadata")
    assert story.the_incident().root_causes[0].advice[0].action == "Grant the principal of c-3 READ on topic orders."


AUTHORIZER = (
    "Principal = User:orders-svc is Denied operation = READ from host = 10.4.2.19 on resource = Group:LITERAL:payments "
    "for request = {} with resourceRefCount = 1 based on rule DefaultDeny"
)


def denied_by_brokers(seen: Side = "brokers") -> Story:
    """Both members heartbeat in vain until their sessions are over; later they may again."""
    story = Story(seen=seen).formed("c-1", "c-2")
    for second in (0, 3, 6):
        for number, request in ((1, "Heartbeat"), (2, "OffsetCommit")):
            story.broker(f"01:10:0{second}.{number}00", AUTHORIZER.format(request), logger="kafka.authorizer.logger")
    for client in ("c-1", "c-2"):
        story.broker("01:10:09.000", story.words.failed(story.id_of(client)))
        story.reborn(client)
    return story.rebalanced("01:10:20.000", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"])


def test_the_authorizer_of_the_brokers_names_the_principal_that_was_denied() -> None:
    story = denied_by_brokers()
    assert story.causes() == ["authorization-failure"]
    narrative = story.the_incident().root_causes[0].narrative
    assert narrative == "The brokers denied User:orders-svc READ on group payments (Heartbeat and OffsetCommit)."


def test_a_group_that_forms_again_when_it_may_was_not_started() -> None:
    assert "startup" not in {c.cause for c in denied_by_brokers().the_incident().root_causes}


def test_an_authorizer_alone_is_no_log_of_the_coordinator() -> None:
    story = Story(seen="brokers")
    story.broker("01:10:00.000", AUTHORIZER.format("JoinGroup"), logger="kafka.authorizer.logger")
    assert not story.timeline().has_coordinator_log
    assert story.causes() == ["authorization-failure"]


def test_a_partition_that_may_not_be_read_is_one_of_its_topic() -> None:
    story = Story().formed("c-1", "c-2")
    message = "Not authorized to read from partition orders-6."
    fetcher = "org.apache.kafka.clients.consumer.internals.Fetcher"
    story.client("c-2", "01:10:00.500", message, level="WARN", logger=fetcher)
    assert story.the_incident().root_causes[0].narrative == "c-2 is not authorized to access topic orders."


REFUSED = "Authentication failed: Invalid username or password"


def test_a_client_whose_password_is_rejected_is_reported_with_the_brokers_lines() -> None:
    story = Story().formed("c-1", "c-2")
    refused = f"Connection to node -1 (b1/10.0.0.1:9092) failed authentication due to: {REFUSED}"
    story.client("c-2", "01:10:00.500", refused, level="ERROR", logger="org.apache.kafka.clients.NetworkClient")
    cause = story.the_incident().root_causes[0]
    assert (cause.cause, cause.narrative) == (
        "authorization-failure",
        f"c-2 could not log in to the brokers: {REFUSED}.",
    )
    assert "credentials" in cause.advice[0].action


def test_a_heartbeat_thread_that_may_not_log_in_was_denied_no_right() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.500", "An authentication error occurred in the heartbeat thread", level="ERROR")
    (cause,) = (cause for cause in story.the_incident().root_causes if cause.cause == "authorization-failure")
    assert cause.narrative == "c-2 could not log in to the brokers."
    assert [advice.action for advice in cause.advice] == [
        "Compare the credentials of c-2 (sasl.jaas.config, keystore) with those the brokers know."
    ]


def test_members_that_cannot_log_in_after_a_restart_are_no_rolling_restart() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    inside = ["c-1", "c-2", "c-3"]
    for minute, client in enumerate(("c-2", "c-3"), 10):
        inside.remove(client)
        closes(story, client, f"01:{minute}:00.000", inside)
        story.started(client, f"01:{minute}:02.000")
        refused = f"Connection to node -1 (b1/10.0.0.1:9092) failed authentication due to: {REFUSED}"
        story.client(client, f"01:{minute}:02.300", refused, level="ERROR")
    found = {i.root_causes[0].cause for i in story.goes_on("01:30:00.000").incidents() if i.severity != "info"}
    assert found == {"authorization-failure"}
    assert "rolling-restart" not in story.causes()


def test_a_connection_that_breaks_during_authentication_was_not_refused() -> None:
    story = Story().formed("c-1", "c-2")
    broken = "Connection to node -1 (b1/10.0.0.1:9092) terminated during authentication. This may happen due to "
    story.client("c-2", "01:10:00.500", broken + "any of the following reasons: (1) Firewall", level="WARN")
    assert "authorization-failure" not in story.causes()


TOPIC = (
    "Principal = User:orders-svc is Denied operation = READ from host = 10.4.2.19 on resource = Topic:LITERAL:orders "
    "for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny"
)


def close_together(story: Story, time: str, *clients: str) -> Story:
    """These members close at once; the coordinator says why they leave, and that nobody is left."""
    for client in clients:
        reason = "the consumer is being closed"
        story.broker(time, story.words.left(story.id_of(client), reason))
    return story


def test_members_that_all_close_when_a_topic_is_denied_were_denied_it() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    story.broker("01:10:00.000", TOPIC, logger="kafka.authorizer.logger")
    close_together(story, "01:10:00.200", "c-1", "c-2")
    assert story.causes() == ["authorization-failure"]
    cause = story.the_incident().root_causes[0]
    assert cause.narrative == "The brokers denied User:orders-svc READ on topic orders, and all members left at once."
    assert cause.confidence < 0.9


def test_a_member_that_stays_shows_that_the_denied_topic_is_not_the_groups() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    story.broker("01:10:00.000", TOPIC, logger="kafka.authorizer.logger")
    close_together(story, "01:10:00.200", "c-1")
    assert "authorization-failure" not in story.causes()


def test_a_group_that_is_shut_down_while_another_application_is_denied_a_topic_all_the_time_was_not_denied_it() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    for second in range(10, 60, 4):
        story.broker(f"01:10:{second}.000", TOPIC, logger="kafka.authorizer.logger")
    close_together(story, "01:10:30.200", "c-1", "c-2")
    assert "authorization-failure" not in story.causes()


SELECTOR = "org.apache.kafka.common.network.Selector"


def refused(story: Story, time: str, address: str, *, again: bool = True, listener: str = "BROKER") -> Story:
    """A broker does not accept a connection's credentials; `again`: it had before."""
    what = f"Failed {'re-' if again else ''}authentication with /{address} (channelId=10.0.0.1:9092-{address}:5-4-4)"
    message = f"[SocketServer listenerType={listener}, nodeId=1] {what} (invalid credentials with SASL mechanism PLAIN)"
    return story.broker(time, message, logger=SELECTOR, number=1)


def lost(story: Story, *members: tuple[str, str]) -> Story:
    """The coordinator hears no more heartbeats from these members."""
    for client, time in members:
        story.broker(time, story.words.failed(story.id_of(client)))
    return story


def test_members_whose_sessions_end_after_brokers_refuse_logins_are_suspected_to_have_lost_their_credentials() -> None:
    story = refused(Story(seen="brokers").formed("c-1", "c-2"), "01:10:00.000", "10.0.0.7")
    refused(story, "01:10:01.000", "10.0.0.8")
    lost(story, ("c-1", "01:10:09.000"), ("c-2", "01:10:10.000"))
    cause = story.the_incident().root_causes[0]
    assert (cause.cause, cause.confidence) == ("authorization-failure", 0.75)
    assert "SocketServer" in cause.evidence[0].text


def test_a_health_check_that_is_refused_all_day_has_nothing_to_do_with_a_lost_member() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    for minute in (20, 30, 40, 50):
        refused(story, f"01:{minute}:05.000", "10.0.0.250", again=False)
    lost(story, ("c-1", "01:50:09.000"))
    assert "authorization-failure" not in story.causes()


def test_a_controller_that_refuses_another_node_refuses_no_member() -> None:
    story = refused(Story(seen="brokers").formed("c-1", "c-2"), "01:10:00.000", "10.0.0.3", listener="CONTROLLER")
    assert "authorization-failure" not in lost(story, ("c-1", "01:10:09.000")).causes()


def test_fewer_refusals_than_lost_members_are_of_another_client() -> None:
    story = refused(Story(seen="brokers").formed("c-1", "c-2"), "01:10:00.000", "10.0.0.7")
    assert "authorization-failure" not in lost(story, ("c-1", "01:10:09.000"), ("c-2", "01:10:09.100")).causes()


def test_a_member_whose_own_log_mentions_no_refusal_was_not_refused() -> None:
    story = Story().formed("c-1", "c-2")
    refused(refused(story, "01:10:00.000", "10.0.0.7"), "01:10:01.000", "10.0.0.8")
    assert "authorization-failure" not in lost(story, ("c-1", "01:10:09.000"), ("c-2", "01:10:09.500")).causes()


def test_new_connections_that_brokers_refuse_may_be_another_applications() -> None:
    story = refused(Story(seen="brokers").formed("c-1", "c-2", "c-3"), "01:10:00.000", "10.0.0.7", again=False)
    refused(story, "01:10:01.000", "10.0.0.8", again=False)
    lost(story, ("c-1", "01:10:09.000"), ("c-2", "01:10:10.000"))
    cause = story.the_incident().root_causes[0]
    assert (cause.cause, cause.confidence) == ("authorization-failure", 0.55)
