"""The explanations in CALIBRATION.md."""

FOREWORD = """# Calibration

The confidence of the reports, compared with how often they are right:

```console
$ python -m benchmarks.calibration INCIDENTS
```

INCIDENTS contains one folder per incident, with `logs/` (one directory per host) and `truth.json` (which fault was
injected into the cluster, when and where). Every root cause that a report names before the labelled time ends is one
finding, rivals of the verdict included, each at its own confidence. Each incident is analyzed with all logs and with
the logs cut down in several ways: only those of one side, only one client's log (selected by a hash of the incident's
name), all but the culprit's, every other host's, logs that end in the middle of the incident or begin just before it,
only the clients' warnings and errors, the end of each file, the lines that `grep` finds for the group, and with every
tenth record lost.

- **right**: the finding is the cause, and with all logs its culprits are the expected ones.
- **neighbour**: not the cause, but one that half of the logs cannot distinguish from it; the confidence should be low.
- **wrong**: anything else, including a fault in a healthy group or before the fault.
- Findings that the labels do not cover (a planned change in a healthy run, `unexplained`) are not counted.
- **without the scenario**: the share of right findings in the same row with each scenario left out in turn, lowest and
  highest; it shows whether a row depends on one scenario.
- **too sure**: right less often than the confidence claims, by more than two standard errors.
"""

PARTS = """
## Where the table comes from

The table from odds to confidence (`diagnosis/engine/confidence.py`) was not computed from incidents. A sign counts 4,
2 or 1 (decisive, strong, weak) as a power of 2, an unknown cause at odds 0 is always added to the rivals, and the
share of the odds is rounded down to one of five values: 0.97, 0.9, 0.75, 0.55, 0.4. Only the weights of the signs were
chosen with incidents at hand. The incidents are divided by a hash of their names: thresholds and weights may be
corrected on part A ({A} incidents), part B ({B} incidents) is used for measuring only. An incident of part B that was
examined to write a sign or to correct a weight moves to part A for good (`LOOKED_INTO` in
`benchmarks/calibration/labels.py`, {moved} so far). A table that was fitted to A is less right on B. The lines that
are lost, the hosts that are left out and the positions at which a log is cut differ from those that were tried while
the signs were written.
"""

ASKED_FOR = """## The logs that reports ask for

If no cause in the report is the real one at 0.75 or more, the question is open. Each log that the report then asks for
in `would_decide` (in its gaps, if no incident asks for one) is fetched from the uncut incident and added to the others,
and everything is analyzed again: the log decides if the real cause is then named at 0.75 or more. If it does not
decide, the logs that the next report asks for are fetched as well, up to three times. Incidents that stay open with all
logs are not counted, because no log could be fetched.

| logs | left open | with more to fetch | asks for a log | one of them decides | all of them do | after asking again |
|---|--:|--:|--:|--:|--:|--:|
{rows}

Not decided by the logs that were asked for:

{misses}
"""
