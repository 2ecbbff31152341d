"""Recordings of real clients in many languages; see lab/README.md."""
