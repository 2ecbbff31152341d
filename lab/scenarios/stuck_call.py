"""One member waits in its poll loop for a service that does not respond; its threads are dumped twice."""

import signal

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Let it wait for 1.5 times max.poll.interval.ms; SIGQUIT prints the second dump to its own log."""
    run.at(5)
    waiting = 1.5 * run.group.poll_interval_ms / 1000
    run.call(2, waiting)
    run.at(20)
    run.dump_threads(2, "threads.txt")
    run.at(28)
    run.dump_threads(2, "threads-later.txt")
    run.members.running[2].signal(signal.SIGQUIT)
    run.at(5 + waiting + 20)
    return Expected(cause="slow-processing", culprit=run.group.client_id(2))


SCENARIO = Scenario(about="one member waits for a service that does not answer, with thread dumps", steps=steps)
