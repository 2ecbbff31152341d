"""A request quota throttles one member for longer than its session."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """A broker throttles by up to one quota window at once: 30 s, three times the session timeout."""
    run.at(5)
    # Idle members spend some milliseconds of a broker's threads in the five minutes that ten windows are.
    run.throttle(2, 0.001, 20)
    run.at(70)
    return Expected(cause="unexplained", culprit=run.group.client_id(2))


SCENARIO = Scenario(
    about="a request quota throttles one member for up to 30 s at once",
    steps=steps,
    brokers={"quota.window.size.seconds": 30},
)
