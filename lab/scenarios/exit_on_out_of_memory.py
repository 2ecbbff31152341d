"""One member's heap is full, and its JVM exits (-XX:+ExitOnOutOfMemoryError)."""

from lab.recording import Expected
from lab.run import Run, Scenario


def steps(run: Run) -> Expected:
    """Allocate objects until the heap is full."""
    run.at(5)
    run.leak(2)
    run.at(45)
    return Expected(cause="process-crash", culprit=run.group.client_id(2))


SCENARIO = Scenario(
    about="one member ends with OutOfMemoryError",
    steps=steps,
    settings={"jvm": ("-XX:+ExitOnOutOfMemoryError",)},
)
