"""`python -m rebalance_forensics.job`."""

from __future__ import annotations

import sys

from rebalance_forensics.job import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
