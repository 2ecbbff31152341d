from __future__ import annotations

import pytest

from rebalance_forensics.catalog.prefixes import peel


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("[GroupCoordinator 1]: ", {"broker": 1}),
        ("[GroupCoordinator id=1 topic=__consumer_offsets partition=13] ", {"broker": 1, "offsets_partition": 13}),
        ("[GroupMetadataManager brokerId=2] ", {"broker": 2}),
        ("[Consumer clientId=c-1, groupId=payments] ", {"client_id": "c-1", "group": "payments"}),
        (
            "[Consumer instanceId=pod-3, clientId=c-1, groupId=payments] ",
            {"instance_id": "pod-3", "client_id": "c-1", "group": "payments"},
        ),
        ("[Consumer clientId=c-1, groupId=null] ", {"client_id": "c-1"}),
        ("[Consumer hidden-app, groupId=payments] ", {"group": "payments"}),
        ("[[payments] {orders: 0, 2; returns: 0, 1, 2, 3, 4...}:] ", {"group": "payments"}),
        ("[Worker clientId=connect-1, groupId=connect] ", {"client_id": "connect-1", "group": "connect"}),
        ("stream-thread [app-1-StreamThread-1] ", {"thread": "app-1-StreamThread-1"}),
        ("stream-client [app-1]", {"client": "app-1"}),
        ("stream-thread [app-1-StreamThread-1] task [0_1] ", {"thread": "app-1-StreamThread-1", "task": "0_1"}),
        (
            "[sink|task-0] [Consumer clientId=c-1, groupId=g] ",
            {"task": "sink|task-0", "client_id": "c-1", "group": "g"},
        ),
        (
            "[GroupCoordinator id=1 topic=__consumer_offsets partition=3] [GroupId g][MemberId m] ",
            {"broker": 1, "offsets_partition": 3, "group": "g", "member": "m"},
        ),
        ("[GroupId=g] ", {"group": "g"}),
        ("[Group g] ", {"group": "g"}),
    ],
)
def test_a_prefix_identifies_the_speaker(prefix: str, expected: dict[str, object]) -> None:
    peeled = peel(f"{prefix}State transition from RUNNING to REBALANCING")
    assert peeled.bare == "State transition from RUNNING to REBALANCING"
    assert peeled.fields == expected


def test_a_group_id_with_blanks_and_brackets_is_whole() -> None:
    assert peel("[Consumer clientId=my app [eu], groupId=a group] Subscribed").fields == {
        "client_id": "my app [eu]",
        "group": "a group",
    }


def test_a_message_that_only_begins_with_a_bracket_stays() -> None:
    assert peel("[a-0, a-1] were revoked").stages == ("[a-0, a-1] were revoked",)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("[thrd:main]: ", {}),
        ("rdkafka: [thrd:main]: 127.0.0.1:9092/1: ", {"node": 1}),
        ("topic=orders, lvl=7, facility=HEARTBEAT, msg=[thrd:main]: ", {}),
        (
            "Handle: orders#consumer-1\tLevel: Debug\tMessage:[thrd:main]: ",
            {"client_id": "orders", "thread": "orders#consumer-1"},
        ),
    ],
)
def test_librdkafkas_message_follows_its_thread_whatever_a_program_prints_before_it(
    before: str, expected: dict[str, str | int]
) -> None:
    peeled = peel(f'{before}Group "payments": leave (in state up)')
    assert peeled.bare == 'Group "payments": leave (in state up)'
    assert {name: text for name, text in peeled.fields.items() if text} == expected
