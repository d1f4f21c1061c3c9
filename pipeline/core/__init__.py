"""What every room stands on: records, files, parameters, paths, errors, progress, randomness, processes."""
