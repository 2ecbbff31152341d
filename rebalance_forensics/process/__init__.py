"""The running process: who it is, what it keeps on disk, how it is told to end."""
