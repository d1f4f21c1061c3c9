"""Analyze questions: their words, functional programs and presuppositions; and paraphrase them."""
