"""A fuzzer that runs damaged real log lines through the real code; see docs/trust.md."""
