"""A report that names nobody: the same pseudonym for the same name, everywhere, log text included."""

from rebalance_forensics.report.anonymizing.rewrite import anonymized

__all__ = ["anonymized"]
