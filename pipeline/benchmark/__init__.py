"""Turn verified candidates into a benchmark, in the stages balance, audit, release and report."""
