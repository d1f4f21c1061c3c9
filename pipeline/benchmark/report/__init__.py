"""Write the HTML page of `rgqa report` about a run."""
