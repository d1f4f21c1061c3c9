"""What `rgqa score` and the release need beside the scorers: plots and the wheel."""
