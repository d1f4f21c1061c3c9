"""Build annotation tasks, and aggregate the verdicts on them into verified candidates."""
