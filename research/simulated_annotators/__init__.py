"""Simulated annotators, and the code with which they find out from the complete ground truth whether a question has
an answer.
"""
