"""What clients that are not Java print for partitions, errors and themselves is read in the same words."""

from __future__ import annotations

import pytest

from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.catalog.prefixes import peel


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


@pytest.mark.parametrize(
    ("message", "partitions"),
    [
        (
            "Setting newly assigned partitions {TopicPartition(topic='orders', partition=0)} for group payments",
            ("orders-0",),
        ),
        ("Setting newly assigned partitions set() for group payments", ()),
        ("new group session begun; group: payments, added: orders[0 1], lost: ", ("orders-0", "orders-1")),
        ("Adding newly assigned partitions: [orders-0, orders-1]", ("orders-0", "orders-1")),
    ],
)
def test_partitions_read_the_same_in_every_clients_print(
    catalog: Catalog, message: str, partitions: tuple[str, ...]
) -> None:
    match = catalog.match(message)
    assert match is not None
    assert match.event == "PartitionsAssigned"
    assert match.fields["partitions"] == partitions


@pytest.mark.parametrize(
    "message",
    [
        (
            "JoinGroup failed: The coordinator is not aware of this member. Need to re-join the group."
            " Sent generation was Generation{generationId=5, memberId='c-1', protocol='range'}"
        ),
        (
            "JoinGroup response: GenerationId -1, Protocol , LeaderId , my MemberId , member metadata count 0:"
            " Broker: Unknown member"
        ),
        "Failed to join group payments: [25] Unknown Member ID: the member id is not in the current generation",
        "Failed to join group payments: [Error 25] UnknownMemberIdError",
        "join group failed; group: payments, err: UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.",
    ],
)
def test_a_forgotten_member_has_one_name_in_every_client(catalog: Catalog, message: str) -> None:
    match = catalog.match(message)
    assert match is not None
    assert match.event == "JoinFailed"
    assert match.fields["error"] == "UNKNOWN_MEMBER_ID"


def test_librdkafka_prints_its_client_id_and_its_broker_in_front() -> None:
    peeled = peel("JOIN [orders-1#consumer-1] [thrd:main]: b2.example.net:9092/2: Joining group")
    assert peeled.bare == "Joining group"
    assert peeled.fields == {"client_id": "orders-1", "thread": "orders-1#consumer-1", "node": 2}


def test_a_line_of_the_application_is_not_read_as_librdkafkas() -> None:
    message = "ORDER [42#7] accepted"
    assert peel(message).bare == message
