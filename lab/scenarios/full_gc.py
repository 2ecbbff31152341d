"""A leak fills the heap of one member, whose full collections take longer than its session timeout."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Allocate objects until the heap is full, then release them."""
    run.at(5)
    run.leak(2)
    run.at(150)
    return Expected(cause="process-pause", culprit=run.group.client_id(2))


SCENARIO = Scenario(
    about="a leak: full collections longer than the session (6 GB of memory)",
    steps=steps,
    settings={"heap": "6g", "members": 3, "session_ms": 6_000, "heartbeat_ms": 2_000},
)
