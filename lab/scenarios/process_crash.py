"""One member is killed and does not come back."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """`kill -9` the second member, whose session has to expire."""
    run.at(5)
    run.kill(2)
    run.at(35)
    return Expected(cause="process-crash", culprit=run.group.client_id(2))


SCENARIO = Scenario(about="kill -9 of one member", steps=steps)
