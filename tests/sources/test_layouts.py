"""Every layout reads its sample, leaves its reject, and is the one that a line of its own goes to."""

from __future__ import annotations

from types import ModuleType

import pytest

from rebalance_forensics.sources import layouts

MODULES = layouts.modules()
IDS = [module.__name__.rpartition(".")[2] for module in MODULES]


def test_there_are_layouts() -> None:
    assert len(MODULES) > 20


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_a_layout_reads_its_sample(module: ModuleType) -> None:
    assert module.LAYOUT.is_header(module.SAMPLE.split("\n")[0])
    parsed = module.LAYOUT.parse(module.SAMPLE)
    assert parsed is not None
    assert parsed.message


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_a_layout_leaves_its_reject_to_others(module: ModuleType) -> None:
    found = layouts.parse(module.REJECT)
    assert found is None or found[0] != module.__name__.rpartition(".")[2].replace("_", "-")


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_a_sample_goes_to_its_own_layout_when_offered_to_all(module: ModuleType) -> None:
    found = layouts.parse(module.SAMPLE)
    assert found is not None
    assert found[0] == module.__name__.rpartition(".")[2].replace("_", "-")


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_the_bulk_count_knows_how_a_sample_starts(module: ModuleType) -> None:
    assert module.SAMPLE.encode().startswith(module.LAYOUT.starts)


def test_a_message_is_over_at_its_logger_and_takes_no_torn_line_behind_it_for_its_own() -> None:
    said = "[2026-11-20 10:15:30,123] INFO Left (reason: closed) (kafka.coordinator.group.GroupCoordinator)"
    torn = f"{said}\n[2026-11-2 10:15:31] INFO Stopped (reason: torn) (kafka.server.KafkaServer)"
    found = layouts.parse(torn)
    assert found is not None
    assert found[1].message == "Left (reason: closed)"


def test_the_trace_behind_a_logger_belongs_to_the_message() -> None:
    said = "[2026-11-20 10:15:30,123] ERROR Failed (kafka.server.KafkaServer)"
    found = layouts.parse(f"{said}\ncom.acme.Trouble: of two\nlines\n\tat com.acme.Main.main(Main.java:1)")
    assert found is not None
    assert found[1].message == "Failed\ncom.acme.Trouble: of two\nlines\n\tat com.acme.Main.main(Main.java:1)"
