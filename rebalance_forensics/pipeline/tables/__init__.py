"""The tables of the scheduled job: their schemas, their state, how they are read and replaced."""
