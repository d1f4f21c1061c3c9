"""The leaderboard: every model's predictions on a release, scored on the same draws of pictures, and ranked as far as they can
be told apart."""
