"""Score all predictions on a release on the same resampled images, with simultaneous intervals and ranges of
ranks.
"""
