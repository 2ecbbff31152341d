"""Log records from files: files are split, lines framed to records, and each record dated and given its place."""
