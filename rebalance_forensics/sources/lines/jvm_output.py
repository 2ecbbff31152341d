"""Output of the JVM itself, without the header that a logger would print."""

from __future__ import annotations

JVM_OUTPUT = (
    'Exception in thread "',
    "Exception: java.",
    "Terminating due to java.",
    "Aborting due to java.",
    "# A fatal error has been detected by the Java Runtime Environment",
)
"""The beginnings of what the JVM prints about a thread that died or its own end."""
