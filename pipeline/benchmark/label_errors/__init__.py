"""Estimate which labels of a set are wrong (`rgqa doubt`)."""
