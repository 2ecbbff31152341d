"""One process is paused for longer than its session timeout, and comes back."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Send SIGSTOP for 20 s, which is twice the session timeout."""
    run.at(5)
    run.pause(2, 20)
    run.at(45)
    return Expected(cause="process-pause", culprit=run.group.client_id(2))


SCENARIO = Scenario(about="one member stopped for 20 s (SIGSTOP)", steps=steps)
