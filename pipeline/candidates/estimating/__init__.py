"""Estimate how probably a candidate is answerable after all, and how difficult it is."""
