"""The leaderboard's baselines on a data set of real pictures: trained on precomputed region features, by `rgqa baselines`."""
