"""Verdicts, people's or simulated, and what they come to for each candidate."""
