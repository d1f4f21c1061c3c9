"""Derive `pipeline/language/kinds.tsv`, the table of synonyms and hypernyms of everyday objects, from WordNet
3.0.
"""
