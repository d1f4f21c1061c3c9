"""Propose candidate unanswerable questions: embed, rank, perturb, screen, estimate."""
