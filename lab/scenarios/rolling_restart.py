"""The members are restarted one after another."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Every fifteen seconds, shut one member down cleanly and restart it."""
    for number in range(1, 1 + run.group.members):
        run.at(15 * number - 10)
        run.restart(number)
    run.at(15 * run.group.members + 15)
    cause = "static-member-restart" if run.group.protocol == "static" else "rolling-restart"
    return Expected(cause=cause, culprit="all")


SCENARIO = Scenario(about="members restarted in turn, 15 s apart", steps=steps)
