"""What CALIBRATION.md says of itself."""

FOREWORD = """# Calibration

How sure the report says it is, against how often it is right:

```console
$ python -m benchmarks.calibration INCIDENTS
```

INCIDENTS holds one folder an incident, with `logs/` (one directory a host) and `truth.json` (what was done to the
cluster, when and to whom). Every root cause that a report names before the labelled time ends is one finding, a
rival of the verdict as much as the verdict, each at its own confidence. Each incident is analyzed with all logs and
with logs cut down as people cut them: one side's alone, one client's alone (which one, a hash of its name says), all
but the culprit's, every other host's, logs that end in the middle of it or begin just before it, clients that log
warnings only, the end of each file, what `grep` finds of the group, and with every tenth record lost.

- **right**: it is the cause, and with all logs at hand its culprits are the ones expected.
- **neighbour**: not the cause, but one that half of the logs cannot tell from it; an honest report is unsure here.
- **wrong**: anything else, also a fault in a healthy group or before the fault.
- Findings about which the labels say nothing (a planned change in a healthy run, `unexplained`) are left out.
- **without the scenario**: the share of right findings in the same row with each scenario left out in turn, lowest and
  highest; a row whose share hangs on one scenario shows it here.
- **too sure**: right less often than the confidence claims, by more than two standard errors.
"""

PARTS = """
## Where the table comes from

The table from odds to confidence (`diagnosis/engine/confidence.py`) was not computed from incidents. A sign counts 4,
2 or 1 (decisive, strong, weak) to the base of 2, beside the rivals there is always something else at odds 0, and the
share of the odds is rounded down to one of five words: 0.97, 0.9, 0.75, 0.55, 0.4. What people chose with incidents
before their eyes are the weights of the signs. The incidents are parted by a hash of their names: on part A
({A} incidents) thresholds and weights may be corrected, part B ({B} incidents) is for measuring only. Whoever looks
into an incident of part B to write a sign or to correct a weight moves it to part A for good (`LOOKED_INTO` in
`benchmarks/calibration/labels.py`, {moved} so far). A table that has been bent to A is less right on B. Which lines
are lost, which hosts are left out and where a log is cut here differs from what was tried while the signs were
written.
"""

ASKED_FOR = """## The logs that it asks for

Where no report names the cause at 0.75 or more, the question is open. Each log that the report then asks for in
`would_decide` (in its gaps, where no incident asks) is fetched from the uncut incident, laid beside the others, and
the whole analyzed again: it decides when the real cause is then named at 0.75 or more. Where it does not, what the
next report asks for is fetched as well, up to three times. Incidents that stay open with all logs are left out: there
is nothing that could be fetched.

| logs | left open | with more to fetch | asks for a log | one of them decides | all of them do | after asking again |
|---|--:|--:|--:|--:|--:|--:|
{rows}

Not decided by what was asked for:

{misses}
"""
