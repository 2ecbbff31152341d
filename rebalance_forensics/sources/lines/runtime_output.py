"""Output of a runtime, a shell or a supervisor about the end of a program, without the header that a logger prints."""

from __future__ import annotations

import re

# What each prints itself, into the stream that the program's logger writes to as well.
_RUNTIME_OUTPUT = re.compile(
    r'Exception in thread "|Exception: java\.|(?:Terminating|Aborting) due to java\.'
    r"|# A fatal error has been detected by the Java Runtime Environment"
    r"|panic: |fatal error: |signal: [a-z]|exit status \d"  # Go's runtime; `go run`
    # Node prints the place of the throw above an uncaught exception, V8 its own fatal errors.
    r"|FATAL ERROR: |(?:/|file:|node:|internal/|events\.js)\S*:\d+$"
    r"|Unhandled [Ee]xception[.:] |Process terminated\. |Fatal error\. "  # .NET
    r"|Traceback \(most recent call last\):$"
    r"|thread '[^']+' (?:\(\d+\) )?panicked at "
    r"|\S+\.rb:\d+:in .+ \([A-Z][\w:]*\)$"
    r"|(?:PHP )?Fatal error: "
    r"|terminate called after throwing |\*\*\* rdkafka"  # C++; librdkafka's assertions
    r"|Segmentation fault|Aborted \(core|Killed$|\S+: line \d+: +\d+ [A-Z]"  # a shell about its child
    r"|command terminated with exit code |exited with code \d"
    r"|Kernel pid terminated|Runtime terminating |Crash dump is being written"  # Erlang
)
_AN_ERROR = re.compile(r"(?i)\b(?:error|warn(?:ing)?|critical|fatal|exception)\b")


def is_runtime_output(text: str) -> bool:
    """True for the first line of what a runtime prints about a thread that died or about the end of its program."""
    return _RUNTIME_OUTPUT.match(text) is not None


def continues_error(text: str, header: str) -> bool:
    """True for a Python traceback below a logged error: `Logger.exception` prints it there and the program goes on."""
    return text.startswith("Traceback ") and _AN_ERROR.search(header) is not None
