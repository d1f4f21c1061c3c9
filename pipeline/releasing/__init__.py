"""The parts of a release folder, each written by one module."""
