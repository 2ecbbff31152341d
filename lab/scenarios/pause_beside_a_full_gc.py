"""One process is stopped for longer than its session; its full collection a while before was short."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """The heap fills and is let go of; SIGSTOP for 20 s, of which the GC log knows nothing."""
    run.at(5)
    run.leak(2)
    run.at(25)
    run.pause(2, 20)
    run.at(70)
    return Expected(cause="process-pause", culprit=run.group.client_id(2))


SCENARIO = Scenario(
    about="one member stopped for 20 s (SIGSTOP), not by the full collections before",
    steps=steps,
    settings={"heap": "200m"},
)
