"""The modules that run in Label Studio's Python environment.

The pipeline is not installed in this environment.
"""
