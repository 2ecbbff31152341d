"""The running process: its identity, temporary files and resources, and the signals that stop it."""
