"""Compare the leaderboard with the effects that the papers report."""
