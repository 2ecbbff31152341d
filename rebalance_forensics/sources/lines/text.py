"""Recognizes binary files, decodes lines, and recognizes output that the JVM prints without a header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b\x08")) + b"\x7f"
# Appended to an ASCII log by PowerShell's `>>`.
_UTF_16 = re.compile(rb"(?:[\t\n\r -~]\x00){8,}|(?:\x00[\t\n\r -~]){8,}")
_BINARY_SHARE = 0.05
_UNDECODABLE_SHARE = 0.3
_SAMPLE = 1 << 16
# ThreadGroup.uncaughtException, HotSpot's report_java_out_of_memory and VMError, threads of a dump, and safepoints of
# JDK 7 and 8 (-XX:+PrintGCApplicationStoppedTime), which may have no time. VisualVM and the plain-text format of Spring
# Boot's actuator print threads as `"main" - Thread t@1`.
JVM_OUTPUT = (
    r"(?:Exception in thread \"|Exception: java\.|(?:Terminating|Aborting) due to java\."
    r"|# A fatal error has been detected by the Java Runtime|# There is insufficient memory for the Java Runtime"
    r"|Full thread dump \S|Total time for which application threads were stopped: \d"
    r"|\"[^\n]{1,300}?\" (?:#\d+ |\[\d+\] |daemon |prio=\d+ |os_prio=-?\d+ )[^\n]{0,300}?\btid=0x[0-9a-f]+"
    r"|\"[^\n]{1,300}?\" - Thread t@\d)"
)
"""An expression for the start of JVM output: the end of a thread, a fatal error, a thread dump, a stop."""
_JVM_OUTPUT = re.compile(JVM_OUTPUT)


# Programs, as named by syslog and the journal, that log single lines without a layout.
_OF_THE_HOST = re.compile(
    r"kernel|systemd(?:-[\w-]+)?|init(?:\.scope)?|upstart|supervisord?|pm2(?:-\w+)?|chronyd?|ntp(?:d|date|sec)?|NetworkManager"
    r"|rsyslogd?(?:-\d+)?"
)


def is_of_the_host(program: str) -> bool:
    """True for the kernel, a supervisor, a time or a syslog daemon, which log one record per line."""
    return _OF_THE_HOST.fullmatch(program) is not None


_OF_A_TRACE = re.compile(
    r"\s+at [^\s(]+\(|\s*Caused by: |\s+Suppressed: |\s+\.\.\. \d+ (?:more|common frames omitted)"
    r"|(?:[a-z][\w$]{0,60}\.){1,12}[A-Z][\w$]{0,120}(?:Exception|Error)(?=[:\s]|\Z)"
)


def is_of_a_trace(text: str) -> bool:
    """True for a line of a stack trace: supervisors pass on the output of a program line by line."""
    return _OF_A_TRACE.match(text) is not None


def is_jvm_output(text: str) -> bool:
    """True for a line that the JVM itself prints, without a header."""
    return _JVM_OUTPUT.match(text) is not None


def is_binary(head: bytes) -> bool:
    """True for bytes that cannot be the start of a log."""
    # Runs of NUL do not count, since logs that were truncated while being written have them; nor do lines in UTF-16.
    sample = head[:_SAMPLE].replace(b"\x00\x00", b"").lstrip(b"\x00")
    if b"\x00" in sample:
        sample = _UTF_16.sub(b"", sample)
    if not sample:
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > _BINARY_SHARE * len(sample):
        return True
    undecodable = sample.decode("utf-8", "replace").count("\ufffd")
    return undecodable > _UNDECODABLE_SHARE * len(sample)


def text_of(line: bytes) -> str:
    """A line as text, without line end, NULs and byte order mark; bytes that are not UTF-8 become U+FFFD."""
    text = line.decode("utf-8", "replace")
    if "\x00" in text:
        text = text.replace("\x00", "")
    text = text.rstrip("\r\n")
    return text[1:] if text[:1] in ("\ufeff", "\x1e") else text


# A JSON escape; `half` matches lone surrogates.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def whole_characters(text: str) -> str:
    """JSON with U+FFFD in place of each lone surrogate: shippers truncate texts, and UTF-8 cannot encode surrogates."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda escape: "\\ufffd" if escape["half"] else escape[0], text)


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream, each with its line end."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest
