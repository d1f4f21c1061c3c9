"""Derive `pipeline/language/kinds.tsv`, the table of synonyms and kinds of everyday things, out of WordNet 3.0."""
