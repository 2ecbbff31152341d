"""Anonymized reports: each name has the same pseudonym everywhere, log text included."""

from rebalance_forensics.report.anonymizing.rewrite import anonymized

__all__ = ["anonymized"]
