"""Basis of all other packages: records, files, parameters, paths, errors, progress, random numbers and worker
processes.
"""
