"""The two steps of a run, on Spark or in this process: files into events, events into rows."""
