"""A fuzzer of our own: real lines, damaged in every way we know, through the real code; see docs/trust.md."""
