"""The annotation study without its server: task assignment, aggregation of verdicts, and quality control."""
