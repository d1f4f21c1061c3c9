"""Estimate the probability that a candidate is answerable after all, and classify how difficult it is."""
