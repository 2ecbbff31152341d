"""A request quota throttles one member for longer than its session timeout."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """A broker throttles for up to one quota window each time: 30 s, three times the session timeout."""
    run.at(5)
    # Idle members use only some milliseconds of a broker's threads in five minutes (ten windows).
    run.throttle(2, 0.001, 20)
    run.at(70)
    return Expected(cause="unexplained", culprit=run.group.client_id(2))


SCENARIO = Scenario(
    about="a request quota throttles one member for up to 30 s at once",
    steps=steps,
    brokers={"quota.window.size.seconds": 30},
)
