"""One member fills the memory of its cgroup, and the kernel kills it."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Let the heap grow beyond the limit of the cgroup, as in a container whose memory limit is too low."""
    run.at(5)
    run.fill_memory(2, megabytes=96)
    run.at(40)
    return Expected(cause="process-crash", culprit=run.group.client_id(2))


SCENARIO = Scenario(
    about="one member killed at its cgroup's memory limit (as root)",
    steps=steps,
    settings={"heap": "512m", "members": 3},
)
