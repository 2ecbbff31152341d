"""A member with a session timeout that the brokers do not allow."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """One more consumer starts with half the shortest session timeout (group.min.session.timeout.ms: 6 s)."""
    number = run.group.members + 1
    run.group.settings.update({"session.timeout.ms": "3000", "heartbeat.interval.ms": "1000"})
    run.at(5)
    run.add(number)
    run.at(20)
    return Expected(cause="invalid-configuration", culprit=run.group.client_id(number))


SCENARIO = Scenario(about="a member whose session timeout the brokers do not allow", steps=steps)
