"""Turn verified candidates into a benchmark: balance, audit, release, report."""
