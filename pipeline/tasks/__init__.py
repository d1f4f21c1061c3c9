"""Build annotation tasks, and turn the verdicts on them into verified candidates."""
