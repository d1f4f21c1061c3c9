"""Measure what a benchmark reveals without its images or without its texts, for own releases and for other sets."""
