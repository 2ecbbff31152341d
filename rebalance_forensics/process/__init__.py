"""The running process: its identity, what it keeps on disk, how it is asked to end."""
