"""Write `rgqa report`, one HTML page about a run."""
