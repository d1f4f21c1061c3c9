"""Decide whether a question has an answer: collect evidence about its image and execute its program on it."""
