"""One member is killed, and supervisord restarts it."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """`kill -9`; the new member joins before the session of the killed one expires."""
    run.at(5)
    run.kill_below_supervisor(2)
    run.at(45)
    return Expected(cause="process-crash", culprit=run.group.client_id(2))


SCENARIO = Scenario(
    about="kill -9 of one member that supervisord starts again",
    steps=steps,
    settings={"members": 3, "supervised": (2,)},
)
