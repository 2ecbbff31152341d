"""The command line: parses options, calls the pipeline, maps the result to an exit code."""

from rebalance_forensics.cli.program import main

__all__ = ["main"]
