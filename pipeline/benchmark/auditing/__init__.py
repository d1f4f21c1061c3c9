"""Measure how well the labels of a benchmark can be predicted without its images or without its texts.

The audit works for releases of this project and for any other set with two labels.
"""
