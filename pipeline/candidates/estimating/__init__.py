"""Estimate how probable it is that a candidate has an answer after all, and how hard it is to see that it has none."""
