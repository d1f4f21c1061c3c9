"""Derive `pipeline/words/kinds.tsv`, the table of synonyms and kinds of everyday things, out of WordNet 3.0."""
