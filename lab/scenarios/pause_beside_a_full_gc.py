"""One process is stopped for longer than its session, soon after a full collection that was short."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """A collection as of System.gc(), then SIGSTOP for 20 s, of which the GC log knows nothing."""
    run.at(5)
    run.collect(2)
    run.pause(2, 20)
    run.at(30)
    run.collect(2)
    run.at(50)
    return Expected(cause="process-pause", culprit=run.group.client_id(2))


SCENARIO = Scenario(about="one member stopped for 20 s (SIGSTOP) after a short full collection", steps=steps)
