"""One file a root cause: what it explains, the signs that decide it, how to explain it."""
