from __future__ import annotations

from tests.streams_group import two_nodes
from tests.timeline.test_processes_per_host import on_one_host


def test_instances_that_write_to_one_file_are_distinguished_by_the_client_in_each_line() -> None:
    story = two_nodes()
    story.given("node-2", 1, "01:05:00.000", "0_3")
    dead = story.process("node-2")
    story.dies("node-2", "01:10:00.000", "node-1")
    on_one_host(story, both_in="all.log")
    assert story.causes() == ["process-crash"]
    assert story.blamed() == [dead]


def test_a_deployment_shows_in_a_merged_log_too() -> None:
    story = two_nodes()
    for minute, node, other in ((10, "node-1", "node-2"), (11, "node-2", "node-1")):
        story.closes(node, f"01:{minute}:00.000", other)
        story.reborn(node)
        story.comes(node, f"01:{minute}:10.000")
    assert on_one_host(story, both_in="all.log").causes() == ["rolling-restart"]


def test_the_lives_of_one_instance_in_one_file_are_one_member() -> None:
    story = two_nodes()
    story.dies("node-2", "01:10:00.000", "node-1").reborn("node-2")
    story.comes("node-2", "01:10:20.000")
    assert {participant.name for participant in story.timeline().membership.members} == {"node-1", "node-2"}
