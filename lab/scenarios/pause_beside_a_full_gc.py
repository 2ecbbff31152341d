"""One process is stopped for longer than its session timeout, soon after a short full collection."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Request a collection, then send SIGSTOP for 20 s, which the GC log does not show."""
    run.at(5)
    run.collect(2)
    run.pause(2, 20)
    run.at(30)
    run.collect(2)
    run.at(50)
    return Expected(cause="process-pause", culprit=run.group.client_id(2))


SCENARIO = Scenario(about="one member stopped for 20 s (SIGSTOP) after a short full collection", steps=steps)
