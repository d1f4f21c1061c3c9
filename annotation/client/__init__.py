"""Talk to a Label Studio server: push tasks, pull verdicts, report progress, and provide the texts that
annotators read.
"""
