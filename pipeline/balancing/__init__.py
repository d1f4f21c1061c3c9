"""Sets in which neither the text nor the picture gives the label away."""
