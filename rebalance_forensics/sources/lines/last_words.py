"""What a Java virtual machine writes itself, without the header that a logger would give it."""

from __future__ import annotations

LAST_WORDS = (
    'Exception in thread "',
    "Exception: java.",
    "Terminating due to java.",
    "Aborting due to java.",
    "# A fatal error has been detected by the Java Runtime Environment",
)
"""How a Java virtual machine, which knows no logger, begins what it writes itself about a thread or its own end."""
