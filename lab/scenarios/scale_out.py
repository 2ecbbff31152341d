"""Members are added."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Add two members within two seconds."""
    new = [run.group.members + 1, run.group.members + 2]
    for place, number in enumerate(new):
        run.at(5 + 2 * place)
        run.add(number)
    run.at(35)
    return Expected(cause="scale-out", culprit=[run.group.client_id(number) for number in new])


SCENARIO = Scenario(about="two members added", steps=steps)
