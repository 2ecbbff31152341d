"""One member does not call poll() for longer than max.poll.interval.ms."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Keep the polling thread busy for 1.5 times max.poll.interval.ms."""
    run.at(5)
    busy = 1.5 * run.group.poll_interval_ms / 1000
    run.stall(2, busy)
    run.at(5 + busy + 20)
    return Expected(cause="slow-processing", culprit=run.group.client_id(2))


SCENARIO = Scenario(about="one member busy for longer than max.poll.interval.ms", steps=steps)
