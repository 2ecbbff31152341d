"""For spark-submit, which wants a file: everything else is in the package."""

import sys

from rebalance_forensics.job import main

sys.exit(main(sys.argv[1:]))
