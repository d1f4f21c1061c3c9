"""Simulated annotators, and the independent reader of the complete truth that they use."""
