"""The leaderboard: every model's predictions on a release, scored on the same resampled images, with simultaneous intervals and ranges of ranks."""
