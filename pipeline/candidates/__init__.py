"""Build candidates for unanswerable questions, in the stages embed, rank, perturb, screen and estimate."""
