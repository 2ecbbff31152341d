"""Benchmarks of scanning and starting, compared with other tools."""
