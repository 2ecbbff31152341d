"""Entry point for spark-submit, which requires a file; all code is in the package."""

import sys

from rebalance_forensics.job import main

sys.exit(main(sys.argv[1:]))
