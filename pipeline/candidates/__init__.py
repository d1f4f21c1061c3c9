"""Build candidates for unanswerable questions: embed, rank, perturb, screen and estimate."""
