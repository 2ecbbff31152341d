from __future__ import annotations

import pytest
import regex

from rebalance_forensics.catalog.compiled_catalog import compile_catalog
from rebalance_forensics.catalog.field_types import TYPES
from rebalance_forensics.catalog.loader import load_all, pattern_files, shipped_patterns
from rebalance_forensics.catalog.program import Types


@pytest.fixture(scope="module")
def shipped_types() -> Types:
    """Every placeholder type, those that are data included."""
    return compile_catalog(load_all(pattern_files([shipped_patterns()]))).types()


@pytest.mark.parametrize(
    ("kind", "printed", "read"),
    [
        ("option", "Some(pod-3)", "pod-3"),
        ("option", "Optional[pod-3]", "pod-3"),
        ("option", "pod-3", "pod-3"),
        ("option", "None", None),
        ("option", "Optional.empty", None),
        ("option", "null", None),
        ("option_int", "Optional[3]", 3),
        ("option_int", "OptionalInt[3]", 3),
        ("partitions", "[orders-0, my-topic-12]", ("orders-0", "my-topic-12")),
        ("partitions", "orders-0, orders-1", ("orders-0", "orders-1")),
        ("partitions", "Set(orders-0)", ("orders-0",)),
        ("partitions", "[]", ()),
        ("partitions", "{orders=[0, 1]}", ("orders-0", "orders-1")),
        ("partitions", "[QXlxgr4SS0S5x1Yy0wAbCd:orders-0]", ("orders-0",)),
        ("ids", "HashSet(c-1-77aa, c-2-88bb)", ("c-1-77aa", "c-2-88bb")),
        ("list", "[a, Optional[b, c]]", ("a", "Optional[b, c]")),
        ("tasks", "{0_1=[orders-1], 1_0=[x-0]}", ("0_1", "1_0")),
        ("tasks", "[]", ()),
        ("tasks_by_member", "{c-1=[0_0, 0_1], c-2=[]}", (("c-1", ("0_0", "0_1")), ("c-2", ()))),
        (
            "assignment",
            "{c-2=Assignment(partitions=[a-1]), c-1=Assignment(partitions=[a-0], userDataSize=8)}",
            (("c-1", ("a-0",)), ("c-2", ("a-1",))),
        ),
        ("epoch_ms", "1735725600123", 1735725600123),
        ("epoch_ms", "2025-01-01 11:00:00,123 +01:00", 1735725600123),
        ("epoch_ms", "1970-01-01 00:00:00,000 Z", 0),
        ("bool", "True", True),
    ],
)
def test_what_kafka_prints_is_read_back(kind: str, printed: str, read: object) -> None:
    assert TYPES[kind].read(printed) == read


def test_coordinator_nodes_are_distinguished_from_brokers_by_their_ids() -> None:
    assert TYPES["node"].read("b1:9092 (id: 2147483646 rack: null)") == {
        "coordinator": 1,
        "node": "b1:9092 (id: 2147483646 rack: null)",
    }
    assert TYPES["node"].read("b1:9092 (id: 1 rack: r1 isFenced: false)") == {
        "coordinator": 1,
        "node": "b1:9092 (id: 1 rack: r1 isFenced: false)",
    }
    assert TYPES["node"].read("b1:9092 (id: +1 rack: null isFenced: false)") == {
        "coordinator": 1,
        "node": "b1:9092 (id: +1 rack: null isFenced: false)",
    }
    assert [TYPES["connection"].read(told) for told in ("-1", "1", "2147483646", "+1")] == [-1, 1, 2**31 - 2, 2**31 - 2]


@pytest.mark.parametrize(("kind", "text"), [("partitions", "[orders]"), ("tasks", "[orders]"), ("epoch_ms", "soon")])
def test_what_is_no_such_thing_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        TYPES[kind].read(text)


@pytest.mark.parametrize(
    "printed",
    [
        "UNKNOWN_MEMBER_ID",
        "The coordinator is not aware of this member.",
        "org.apache.kafka.common.errors.UnknownMemberIdException: The coordinator is not aware of this member.",
        "'The coordinator is not aware of this member.'",
    ],
)
def test_an_error_has_one_name_however_it_is_printed(printed: str, shipped_types: Types) -> None:
    assert shipped_types["error"].read(printed) == "UNKNOWN_MEMBER_ID"


def test_settings_keep_what_matters_to_groups_and_no_secret() -> None:
    dump = (
        "\n\tgroup.id = payments\n\tsasl.jaas.config = [hidden]\n\tsession.timeout.ms = 45000\n\tssl.key.password = x\n"
    )
    lines = (("group.id", "payments"), ("session.timeout.ms", "45000"))
    assert TYPES["settings"].read(dump) == lines
    assert TYPES["settings"].read(dump.replace("\n\t", " ")) == lines


@pytest.mark.parametrize(
    ("text", "broker"),
    [
        ("b1.example.net:9092 (id: 2147483645 rack: null)", 2),
        ("b1.example.net:9092 (id: 2147483645)", 2),
        ("b1.example.net:9092", None),
    ],
)
def test_a_shortened_node_is_read(text: str, broker: int | None) -> None:
    kind = TYPES["node"]
    assert regex.fullmatch(kind.source, text)
    assert kind.read(text) == {"coordinator": broker, "node": text if broker else None}
