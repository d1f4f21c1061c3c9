"""Annotation tasks: which filter questions a picture offers, and which stands beside which candidate."""
