"""One clock for all files."""
